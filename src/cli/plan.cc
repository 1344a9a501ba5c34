// syndrome plan: where the locks of a hardened program go.

#include "enforce/plan/plan.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/io.h"
#include "enforce/plan/summary.h"
#include "enforce/profile.h"
#include "event/plan_limits.h"

namespace syndrome::cli {
namespace {

// Far larger than programs and profiles are.
constexpr std::size_t kMostProgramBytes = std::size_t{1} << 32U;

struct PlanCall {
  std::string profile;
  std::string program;
  std::string output;
  std::vector<std::string> only;
  bool quiet = false;
};

int plan(const PlanCall& call) {
  const auto wrong = [](const std::string& file, const Error& error) {
    complain(file, error);
    return kWrong;
  };
  const Result<std::string> text = read_file(call.profile, kMostFindingsBytes);
  if (!text) return wrong(call.profile, text.error());
  const Result<enforce::Profile> profile = enforce::read_profile(*text);
  if (!profile) return wrong(call.profile, profile.error());
  const Result<std::string> bytes = read_file(call.program, kMostProgramBytes);
  if (!bytes) return wrong(call.program, bytes.error());
  const Result<std::string_view> summary = enforce::find_summary(*bytes);
  if (!summary) return wrong(call.program, summary.error());
  const Result<enforce::Program> program = enforce::read_summary(*summary);
  if (!program) return wrong(call.program, program.error());

  const Result<enforce::Plan> plan = enforce::make_plan(*program, *profile, {call.only});
  if (!plan) return wrong(call.profile, plan.error());
  if (plan->locks.size() > kMostPlanLocks) {
    complain(fmt::format(
        "{} locks are more than the {} that a hardened program has room for; --only names the "
        "variables that matter",
        plan->locks.size(), kMostPlanLocks));
    return kWrong;
  }
  if (const Status status = write_file(call.output, enforce::to_json(*plan, *program)); !status) {
    complain(status.error().message);
    return kWrong;
  }
  if (!call.quiet && !call.output.empty() && call.output != "-") {
    if (const Status status = print_lines(enforce::to_text(*plan, *program)); !status) {
      return kWrong;
    }
  }
  return kClean;
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<PlanCall>();
  CLI::App* command = app.add_subcommand(
      "plan", "Place locks, free of deadlocks, that keep what 'infer' has learned");
  command->add_option("PROFILE", call->profile, "What 'syndrome infer' has written")
      ->required()
      ->type_name("");
  command
      ->add_option("PROG", call->program,
                   "The program with probes that was recorded; it carries the control flow of its "
                   "functions")
      ->required()
      ->type_name("");
  command
      ->add_option("-o,--output", call->output,
                   "The plan (default: standard output). Then it is shown: which lock, where, for "
                   "which pair, and what is taken earlier against a deadlock")
      ->type_name("PLAN");
  command
      ->add_option("--only", call->only,
                   "Plan for this variable (repeatable; default: every one that has a pair which "
                   "the program's own locks do not keep)")
      ->type_name("NAME");
  command->add_flag("-q,--quiet", call->quiet, "Write the plan, show nothing");
  command->footer(
      "Exit code: 0 the plan is written, 2 the input or the call is wrong, or the\n"
      "profile is of other code than the program.\n\n"
      "Example:\n"
      "  syndrome infer -o server.profile r1.syn r2.syn\n"
      "  syndrome plan -o server.plan server.profile server-probes\n"
      "  syndrome c++ --syndrome-enforce=server.plan -g -O2 server.cc -o server");
  command->callback([call, &exit_code] { exit_code = plan(*call); });
}

}  // namespace syndrome::cli
