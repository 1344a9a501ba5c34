#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "cli/cc.h"
#include "cli/command.h"
#include "cli/io.h"
#include "report/cells.h"
#include "spec/nearest.h"

namespace syndrome::cli {
namespace {

/// The deepest subcommand that the call named.
const CLI::App& called(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::string commands_of(const CLI::App& app) {
  std::string list;
  for (const CLI::App* sub : app.get_subcommands({})) {
    list += (list.empty() ? "" : ", ") + sub->get_name();
  }
  return list;
}

/// "chek" is a subcommand that does not exist, "--fromat" an option.
std::string unexpected(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  if (word.starts_with("-")) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  } else {
    for (const CLI::App* sub : app.get_subcommands({})) known.push_back(sub->get_name());
  }
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view close = spec::nearest(word, views);
  const std::string hint = close.empty() ? "" : fmt::format(" (did you mean '{}'?)", close);
  if (word.starts_with("-")) return fmt::format("there is no option '{}'{}", word, hint);
  if (views.empty()) return fmt::format("'{}' is one argument too many", word);
  return fmt::format("there is no command '{}'{}; there are: {}", word, hint, commands_of(app));
}

/// Breaks the descriptions of all options so that help fits into 80 columns.
void wrap_help(CLI::App& app) {
  constexpr std::size_t kNames = 26;
  constexpr std::size_t kColumns = 80;
  app.get_formatter()->column_width(kNames);
  for (CLI::Option* option : app.get_options()) {
    std::string text;
    for (const std::string& line : report::wrap(option->get_description(), kColumns - kNames)) {
      text += (text.empty() ? "" : "\n") + line;
    }
    option->description(text);
  }
  for (CLI::App* sub : app.get_subcommands({})) wrap_help(*sub);
}

int wrong_call(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = called(app);
  std::string message = error.what();
  std::vector<std::string> rest = command.remaining(true);
  std::erase(rest, "--");
  // What could not be understood explains the error better than what is missing because of it.
  if (!rest.empty()) {
    message = unexpected(command, rest.front());
  } else if (!commands_of(command).empty()) {
    message = "expected a command: " + commands_of(command);
  }
  complain(fmt::format("{}\nTry '{} --help'.", message, full_name(command)));
  return kWrong;
}

int run(int argc, char** argv) {
  // Whoever closes the pipe that we write to has seen enough: end quietly, as cat does. A program
  // that we run gets back what we were given.
  const bool pipe_ignored = std::signal(SIGPIPE, SIG_DFL) == SIG_IGN;

  int exit_code = kClean;
  CLI::App app("Finds operations of multi-threaded programs that are not atomic.", "syndrome");
  app.set_version_flag("--version", "syndrome " SYNDROME_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  syndrome c++ -g -O2 bank.cc -o bank      build with probes\n"
      "  syndrome record -o run.syn -- ./bank     keep the trace of a run\n"
      "  syndrome check run.syn                   races? data out of step? blocks not atomic?\n"
      "  syndrome refine -o bank.toml -- ./bank   learn what is atomic\n"
      "  syndrome trace info run.syn              what is in a trace?\n"
      "  syndrome check --help                    options, exit codes, an example");
  // Only for the list of commands: run_compiler() has taken their calls.
  app.add_subcommand("cc", "Compile and link C with probes (clang 19 underneath)");
  app.add_subcommand("c++", "Compile and link C++ with probes");
  std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  add_run(app, exit_code, pipe_ignored, arguments);
  add_record(app, exit_code, pipe_ignored, arguments);
  add_check(app, exit_code);
  add_refine(app, exit_code, pipe_ignored, arguments);
  add_infer(app, exit_code);
  add_plan(app, exit_code);
  add_flow(app, exit_code);
  CLI::App* trace = app.add_subcommand("trace", "Look at, print, convert, check and make traces");
  trace->require_subcommand(1);
  trace->footer(
      "Example:\n"
      "  syndrome trace generate --events 100000 --seed 1 -o t.syn\n"
      "  syndrome trace info t.syn");
  add_trace_info(*trace, exit_code);
  add_trace_cat(*trace, exit_code);
  add_trace_convert(*trace, exit_code);
  add_trace_validate(*trace, exit_code);
  add_trace_generate(*trace, exit_code);
  add_report(app, exit_code);
  add_explore(app, exit_code);
  add_replay_check(app, exit_code);
  add_man(app, exit_code);
  wrap_help(app);

  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    const CLI::App& command = called(app);
    const CLI::App* parent = command.get_parent();
    const std::string text = command.help(parent == nullptr ? "" : full_name(*parent));
    const Status status = write_stdout(text);
    return status ? kClean : kWrong;
  } catch (const CLI::CallForVersion& version) {
    const Status status = write_stdout(fmt::format("{}\n", version.what()));
    return status ? kClean : kWrong;
  } catch (const CLI::ParseError& error) {
    return wrong_call(app, error);
  }
  return exit_code;
}

}  // namespace
}  // namespace syndrome::cli

int main(int argc, char** argv) {
  try {
    if (const auto code = syndrome::cli::run_compiler(argc, argv)) return *code;
    return syndrome::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    syndrome::cli::complain("out of memory");
    return syndrome::cli::kWrong;
  }
}
