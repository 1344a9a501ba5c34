// syndrome trace info: what is in a trace.

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "check/pass.h"
#include "cli/command.h"
#include "cli/io.h"
#include "cli/progress.h"
#include "event/clean.h"
#include "report/cells.h"
#include "report/words.h"
#include "trace/capture_reader.h"
#include "trace/input.h"
#include "trace/syn_reader.h"

namespace syndrome::cli {
namespace {

struct InfoCall {
  std::string trace;
  std::string format = "text";
  unsigned jobs = 0;
};

struct Info {
  std::string format;
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
  std::uint64_t threads = 0;
  std::uint64_t variables = 0;
  std::uint64_t locks = 0;
  std::uint64_t blocks = 0;
  std::uint64_t chunks = 0;  // .syn only
  std::uint64_t ill_formed = 0;
  std::array<std::uint64_t, kEventKindCount> kinds{};
  std::optional<bool> complete;  // .syn only: other formats do not tell
  std::vector<std::string> warnings;
  std::optional<trace::CaptureSummary> recorded;  // .syn with words only
};

/// A .syn file has its totals at its end, so it need not be decoded. Nothing when the file is not
/// a plain .syn, or is damaged; then reading it tells why.
std::optional<Info> from_summary(const trace::Input& input) {
  if (input.format() != trace::Format::kSyn || input.path() == "-") return std::nullopt;
  const Result<bool> recorded = trace::is_capture(input.path());
  if (!recorded || *recorded) return std::nullopt;
  const Result<trace::SynSummary> summary = trace::read_syn_summary(input.path());
  if (!summary) return std::nullopt;
  Info info;
  info.format = trace::name_of(input.format());
  info.bytes = summary->bytes;
  info.events = summary->events;
  info.threads = summary->threads;
  info.variables = summary->variables;
  info.locks = summary->locks;
  info.blocks = summary->blocks;
  info.chunks = summary->chunks;
  info.kinds = summary->kinds;
  info.complete = summary->complete;
  if (!summary->warning.empty()) info.warnings.push_back(summary->warning);
  return info;
}

Result<Info> from_events(trace::Input& input) {
  ProgressBar bar(true);
  check::PassOptions options;
  options.lenient = true;
  options.on_progress = [&bar](const check::Tick& tick) { bar.update(tick.events, tick.bytes); };
  const Result<check::PassResult> pass = check::run_pass(input, {}, options);
  if (!pass) return pass.error();
  Info info;
  info.format = pass->trace.format;
  info.bytes = pass->trace.bytes;
  info.events = pass->trace.counts.events();
  info.threads = pass->trace.threads;
  info.variables = pass->trace.variables;
  info.locks = pass->trace.locks;
  info.blocks = pass->trace.counts.blocks;
  info.ill_formed = pass->trace.counts.dropped;
  info.kinds = pass->trace.counts.of_kind;
  info.warnings = pass->trace.warnings;
  if (input.format() == trace::Format::kSyn) info.complete = info.warnings.empty();
  if (input.format() == trace::Format::kSyn && input.path() != "-") {
    const Result<bool> recorded = trace::is_capture(input.path());
    if (!recorded || !*recorded) return info;
    Result<trace::CaptureSummary> summary = trace::read_capture_summary(input.path());
    if (!summary) return summary.error();
    info.complete = summary->complete;
    info.chunks = summary->chunks;
    info.recorded = std::move(*summary);
  }
  return info;
}

std::string date_of(std::uint64_t realtime_ns) {
  const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "";
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return std::string(text.data(), size);
}

/// The command as a shell would take it, near enough for a person.
std::string command_of(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) {
    if (!line.empty()) line += ' ';
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$*?") == std::string::npos;
    line += plain ? word : "'" + word + "'";
  }
  return report::clean(line);
}

std::string as_text(const InfoCall& call, const Info& info) {
  std::string text;
  const auto line = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<14}{}\n", name, value);
  };
  text += fmt::format("{}\n", call.trace == "-" ? "standard input" : report::clean(call.trace));
  line("format", info.format + (info.complete ? *info.complete ? ", complete" : ", cut off" : ""));
  std::string size = fmt::format("{} bytes", report::grouped(info.bytes));
  if (info.events != 0) {
    size += fmt::format(", {:.2f} an event",
                        static_cast<double>(info.bytes) / static_cast<double>(info.events));
  }
  if (info.chunks != 0) size += fmt::format(", {}", report::many(info.chunks, "chunk"));
  if (info.bytes != 0) line("size", size);
  if (info.recorded) {
    const trace::CaptureSummary& recorded = *info.recorded;
    line("command", command_of(recorded.command));
    line("process", fmt::format("{}{}{}", recorded.pid, recorded.realtime_ns != 0 ? ", " : "",
                                recorded.realtime_ns != 0 ? date_of(recorded.realtime_ns) : ""));
    if (recorded.noise) line("noise", fmt::format("seed {}", *recorded.noise));
    line("words", report::grouped(recorded.words));
    for (const std::string& path : recorded.instrumented) line("module", report::clean(path));
    for (const std::string& path : recorded.bare) {
      line("module", report::clean(path) + "  (not instrumented)");
    }
  }
  line("threads", report::grouped(info.threads));
  line("variables", report::grouped(info.variables));
  line("locks", report::grouped(info.locks));
  line("blocks", report::grouped(info.blocks));
  line("events", report::grouped(info.events));
  for (std::size_t kind = 0; kind < kEventKindCount; ++kind) {
    if (info.kinds[kind] == 0) continue;
    text +=
        fmt::format("    {:<16}{:>16}\n", kEventKindNames[kind], report::grouped(info.kinds[kind]));
  }
  if (info.ill_formed != 0) {
    text += fmt::format("    {:<16}{:>16}  (`syndrome trace validate` lists them)\n", "ill-formed",
                        report::grouped(info.ill_formed));
  }
  return text;
}

std::string as_json(const InfoCall& call, const Info& info) {
  using Json = nlohmann::ordered_json;
  Json object = {{"file", call.trace},    {"format", info.format},   {"bytes", info.bytes},
                 {"events", info.events}, {"threads", info.threads}, {"variables", info.variables},
                 {"locks", info.locks},   {"blocks", info.blocks}};
  if (info.complete) object["complete"] = *info.complete;
  if (info.chunks != 0) object["chunks"] = info.chunks;
  if (info.ill_formed != 0) object["ill_formed"] = info.ill_formed;
  if (info.recorded) {
    object["recorded"] = {{"command", info.recorded->command},
                          {"pid", info.recorded->pid},
                          {"realtime_ns", info.recorded->realtime_ns},
                          {"words", info.recorded->words},
                          {"instrumented_modules", info.recorded->instrumented},
                          {"other_modules", info.recorded->bare}};
    if (info.recorded->noise) object["recorded"]["noise"] = *info.recorded->noise;
  }
  Json& kinds = object["kinds"] = Json::object();
  for (std::size_t kind = 0; kind < kEventKindCount; ++kind) {
    if (info.kinds[kind] != 0) kinds[std::string(kEventKindNames[kind])] = info.kinds[kind];
  }
  if (!info.warnings.empty()) object["warnings"] = info.warnings;
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int run(const InfoCall& call) {
  Result<trace::Input> input = trace::Input::open(call.trace, {call.jobs});
  if (!input) {
    complain(call.trace, input.error());
    return kWrong;
  }
  std::optional<Info> info = from_summary(*input);
  if (!info) {
    Result<Info> read = from_events(*input);
    if (!read) {
      complain(call.trace, read.error());
      return kWrong;
    }
    info = std::move(*read);
  }
  for (const std::string& warning : info->warnings) warn(call.trace, warning);
  const Status status = write_stdout(call.format == "json" ? clean_json(as_json(call, *info))
                                                           : clean_lines(as_text(call, *info)));
  if (status) return kClean;
  complain(status.error().message);
  return kWrong;
}

}  // namespace

void add_trace_info(CLI::App& trace, int& exit_code) {
  auto call = std::make_shared<InfoCall>();
  CLI::App* command = trace.add_subcommand("info", "What is in a trace");
  command->add_option("TRACE", call->trace, "A trace file in any format; - is standard input")
      ->required()
      ->type_name("");
  command->add_option("--format", call->format, "text or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->capture_default_str();
  command->add_option("--jobs", call->jobs, "Threads for reading (default: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U).description(""));
  command->footer(
      "Example:\n"
      "  syndrome trace info trace.syn");
  command->callback([call, &exit_code] { exit_code = run(*call); });
}

}  // namespace syndrome::cli
