// syndrome infer: from runs that passed, which accesses follow each other undisturbed.

#include "enforce/infer/infer.h"

#include <fmt/format.h>

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
  unsigned jobs = 0;
  bool lenient = false;
  bool quiet = false;
};

/// The inference as what the driver of checks leads a trace past.
class InferCheck : public check::Check {
 public:
  explicit InferCheck(const enforce::InferOptions& options) : inference_(options) {}
  void take(const Batch& batch, const Names& names) override { inference_.take(batch, names); }
  [[nodiscard]] bool end_of_pass(const Names& names) override {
    profile = inference_.result(names);
    return false;
  }
  [[nodiscard]] check::CheckResult result() override { return {}; }

  enforce::Profile profile;

 private:
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
      complain(fmt::format("-o {}: is a trace; give the profile another name", trace));
      return kWrong;
    }
  }
  catch_interrupt();
  enforce::Profile profile;
  for (const std::string& trace : call.traces) {
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
    if (!call.quiet) {
      for (const std::string& warning : result->warnings) warn(trace, warning);
    }
    const enforce::Profile& learned = static_cast<InferCheck&>(*checks.front()).profile;
    if (result->trace.counts.of(EventKind::kEnter) == 0) {
      complain(fmt::format(
          "{}: has no functions, so pairs have no place. Record a program that 'syndrome cc' or "
          "'syndrome c++' has built",
          trace));
      return kWrong;
    }
    profile.merge(learned);
  }
  if (const Status status = write_file(call.output, enforce::to_json(profile)); !status) {
    complain(status.error().message);
    return kWrong;
  }
  if (!call.quiet && !call.output.empty() && call.output != "-") {
    if (const Status status = write_stdout(enforce::to_text(profile)); !status) return kWrong;
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
                   "'record --noise' shows more schedules")
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
                   "those of one object")
      ->type_name("NAMES");
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
