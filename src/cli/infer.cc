// syndrome infer: from runs that passed, which accesses follow each other undisturbed.

#include "enforce/infer/infer.h"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "check/check.h"
#include "check/pass.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/io.h"
#include "cli/progress.h"
#include "trace/input.h"

namespace syndrome::cli {
namespace {

struct InferCall {
  std::vector<std::string> traces;
  std::vector<std::string> together;
  std::string output;
  unsigned correlate = 0;  // percent; 0: not asked for
  unsigned jobs = 0;
  bool lenient = false;
  bool quiet = false;
};

/// The inference as what the driver of checks leads a trace past.
class InferCheck : public check::Check {
 public:
  explicit InferCheck(const enforce::InferOptions& options)
      : correlate_(options.correlate), inference_(options) {}
  void take(const Batch& batch, const Names& names) override { inference_.take(batch, names); }
  [[nodiscard]] bool end_of_pass(const Names& names) override {
    if (correlate_) {
      companions = inference_.companions(names);
    } else {
      profile = inference_.result(names);
    }
    return false;
  }
  [[nodiscard]] check::CheckResult result() override { return {}; }

  enforce::Profile profile;
  enforce::Companions companions;

 private:
  bool correlate_;
  enforce::Inference inference_;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = list.find(',', begin);
    names.push_back(list.substr(begin, comma - begin));
    if (comma == std::string::npos) return names;
    begin = comma + 1;
  }
}

/// Leads the inference past all traces, and `each` takes what it learned. An exit code when that
/// is not possible.
template <class Each>
int learn(const InferCall& call, const std::vector<std::string>& traces,
          const enforce::InferOptions& options, Each each) {
  for (const std::string& trace : traces) {
    Result<trace::Input> input = trace::Input::open(trace, {call.jobs});
    if (!input) {
      complain(trace, input.error());
      return kWrong;
    }
    ProgressBar bar(!call.quiet);
    std::vector<std::unique_ptr<check::Check>> checks;
    checks.push_back(std::make_unique<InferCheck>(options));
    check::PassOptions pass;
    pass.lenient = call.lenient;
    pass.interrupted = interrupted;
    pass.on_progress = [&bar](const check::Tick& tick) {
      bar.update(tick.events, tick.bytes, tick.pass);
    };
    const Result<check::PassResult> result = check::run_pass(*input, checks, pass);
    bar.erase();
    if (!result) {
      complain(trace, result.error());
      return kWrong;
    }
    if (result->interrupted) return kInterrupted;
    if (!call.quiet && !options.correlate) {
      for (const std::string& warning : result->warnings) warn(trace, warning);
    }
    if (result->trace.counts.of(EventKind::kEnter) == 0) {
      complain(fmt::format(
          "{}: has no functions, so pairs have no place. Record a program that 'syndrome cc' or "
          "'syndrome c++' has built",
          trace));
      return kWrong;
    }
    each(static_cast<const InferCheck&>(*checks.front()));
  }
  return kClean;
}

bool is_profile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string begin(enforce::kProfileBegins.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return in && begin == enforce::kProfileBegins;
}

/// What earlier calls have learned. Variables that counted as one then do so now.
int take_profile(const std::string& path, enforce::InferOptions& options,
                 enforce::Profile& profile) {
  const Result<std::string> text = read_file(path, kMostFindingsBytes);
  const Result<enforce::Profile> known =
      text ? enforce::read_profile(*text) : Result<enforce::Profile>(text.error());
  if (!known) {
    complain(path, known.error());
    return kWrong;
  }
  for (const auto& [name, variable] : known->variables) {
    enforce::Group parts = enforce::parts_of(name);
    if (parts.size() > 1) options.together.push_back(std::move(parts));
  }
  profile.merge(*known);
  return kClean;
}

/// Adds the groups that are found.
int correlate(const InferCall& call, const std::vector<std::string>& traces,
              enforce::InferOptions& options) {
  enforce::Companions companions;
  options.correlate = true;
  const int code = learn(call, traces, options, [&companions](const InferCheck& check) {
    companions.merge(check.companions);
  });
  options.correlate = false;
  if (code != kClean) return code;
  std::string told;
  for (const enforce::Group& group : companions.groups(call.correlate)) {
    enforce::Group parts;
    for (const std::string& name : group) {
      told += fmt::format("{}{}", name == group.front() ? "" : ", ", name);
      for (std::string& part : enforce::parts_of(name)) parts.push_back(std::move(part));
    }
    told += " are accessed together and count as one\n";
    options.together.push_back(std::move(parts));
  }
  if (call.quiet || call.output.empty() || call.output == "-") return kClean;
  return print_lines(told) ? kClean : kWrong;
}

int infer(const InferCall& call) {
  enforce::InferOptions options;
  for (const std::string& group : call.together) {
    options.together.push_back(split(group));
    if (options.together.back().size() < 2) {
      complain(
          fmt::format("--together {}: expected two names or more, separated by commas", group));
      return kWrong;
    }
  }
  for (const std::string& trace : call.traces) {
    if (!call.output.empty() && same_file(trace, call.output)) {
      complain(fmt::format("-o {}: is an input; give the profile another name", trace));
      return kWrong;
    }
  }
  catch_interrupt();
  enforce::Profile profile;
  std::vector<std::string> traces;
  for (const std::string& path : call.traces) {
    if (!is_profile(path)) {
      traces.push_back(path);
      continue;
    }
    if (const int code = take_profile(path, options, profile); code != kClean) return code;
  }
  if (call.correlate != 0) {
    if (const int code = correlate(call, traces, options); code != kClean) return code;
  }
  const int code = learn(call, traces, options,
                         [&profile](const InferCheck& check) { profile.merge(check.profile); });
  if (code != kClean) return code;
  if (const Status status = write_file(call.output, enforce::to_json(profile)); !status) {
    complain(status.error().message);
    return kWrong;
  }
  if (!call.quiet && !call.output.empty() && call.output != "-") {
    if (const Status status = print_lines(enforce::to_text(profile)); !status) return kWrong;
  }
  return kClean;
}

}  // namespace

void add_infer(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<InferCall>();
  CLI::App* command =
      app.add_subcommand("infer", "Learn from passing runs which accesses must not be torn apart");
  command
      ->add_option("TRACE", call->traces,
                   "Recordings of runs that passed: different inputs, several runs of each. "
                   "'record --noise' shows more schedules. Profiles may stand among them: what "
                   "earlier runs have shown counts too")
      ->required()
      ->type_name("");
  command
      ->add_option("-o,--output", call->output,
                   "The profile (default: standard output). Then what was learned is shown: by "
                   "variable and function, the pairs that were exclusive-atomic (nobody else came "
                   "in between) and read-atomic (others only read)")
      ->type_name("PROFILE");
  command
      ->add_option("--together", call->together,
                   "Variables that must agree count as one: Type::count,Type::owner. For fields, "
                   "those of one object. So do those of one SYNDROME_ATOMIC_SET")
      ->type_name("NAMES");
  command
      ->add_flag("--correlate{66}", call->correlate,
                 "Variables that functions access together in most cases count as one, as with "
                 "--together: two globals, or two fields of one object. --correlate=80: in 80 of "
                 "100 functions that access either (default 66)")
      ->check(CLI::Range(1U, 100U).description(""));
  command->add_flag("--lenient", call->lenient, "Pass over ill-formed events of a trace");
  command->add_flag("-q,--quiet", call->quiet, "Show nothing of what was learned, no progress");
  command->add_option("--jobs", call->jobs, "Threads for reading (default: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U).description(""));
  command->footer(
      "Exit code: 0 the profile is written, 2 the input or the call is wrong.\n\n"
      "Example:\n"
      "  syndrome c++ -g -O2 server.cc -o server-probes\n"
      "  syndrome record -o r1.syn -- ./server-probes test1\n"
      "  syndrome infer -o server.profile r1.syn\n"
      "  syndrome plan -o server.plan server.profile server-probes\n"
      "  syndrome c++ --syndrome-enforce=server.plan -g -O2 server.cc -o server");
  command->callback([call, &exit_code] { exit_code = infer(*call); });
}

}  // namespace syndrome::cli
