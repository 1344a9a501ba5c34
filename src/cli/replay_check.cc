// syndrome replay-check: are the schedules of saved findings correct reorderings of their trace?
// Runs the verifier alone (check/nondeterminism/definition.h), and none of the search.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "check/nondeterminism/definition.h"
#include "check/pass.h"
#include "cli/command.h"
#include "cli/findings.h"
#include "cli/io.h"
#include "report/cells.h"
#include "report/json.h"
#include "report/words.h"
#include "trace/input.h"

namespace syndrome::cli {
namespace {

struct ReplayCall {
  std::string findings;
  std::string trace;
  bool lenient = false;
  bool quiet = false;
};

/// Keeps all events, as checks see them.
class Collect final : public check::Check {
 public:
  Collect(std::vector<Event>& events, std::vector<check::Precedence>& published)
      : events_(events), published_(published) {}
  void take(const Batch& batch, const Names&) override {
    events_.insert(events_.end(), batch.events.begin(), batch.events.end());
  }
  [[nodiscard]] bool end_of_pass(const Names& names) override {
    published_ = check::published(events_, names.layout());
    return false;
  }
  [[nodiscard]] check::CheckResult result() override { return {}; }

 private:
  std::vector<Event>& events_;
  std::vector<check::Precedence>& published_;
};

Status read_trace(const ReplayCall& call, std::vector<Event>& events,
                  std::vector<check::Precedence>& published) {
  Result<trace::Input> input = trace::Input::open(call.trace);
  if (!input) return input.error();
  std::vector<std::unique_ptr<check::Check>> checks;
  checks.push_back(std::make_unique<Collect>(events, published));
  check::PassOptions options;
  options.lenient = call.lenient;
  const Result<check::PassResult> result = check::run_pass(*input, checks, options);
  if (!result) return result.error();
  return {};
}

/// Of several reports, those about the trace; a single one is taken to be.
std::vector<const report::Finding*> findings_about(const report::SavedReports& saved,
                                                   const std::string& trace) {
  std::vector<const report::Finding*> findings;
  for (const report::Report& each : saved.reports) {
    if (saved.reports.size() > 1 && each.trace.file != trace) continue;
    for (const report::CheckReport& entry : each.checks) {
      for (const report::Finding& finding : entry.findings) {
        if (finding.rule == "nondeterministic-read" || finding.rule == "unsettled-final-value") {
          findings.push_back(&finding);
        }
      }
    }
  }
  return findings;
}

int run(const ReplayCall& call) {
  const Result<report::SavedReports> saved = read_findings(call.findings);
  if (!saved) {
    complain(saved.error().message);
    return kWrong;
  }
  std::vector<Event> events;
  std::vector<check::Precedence> published;
  if (const Status status = read_trace(call, events, published); !status) {
    complain(call.trace, status.error());
    return kWrong;
  }
  const check::Reorderings trace(events, published);
  std::string out;
  std::size_t rejected = 0;
  const std::vector<const report::Finding*> findings = findings_about(*saved, call.trace);
  for (const report::Finding* finding : findings) {
    const bool read = finding->rule == "nondeterministic-read";
    if (read && finding->read == 0) {
      ++rejected;
      out += fmt::format("rejected: event {}: the finding names no read\n", finding->event);
      continue;
    }
    const check::Claim claim{read ? finding->read : 0, finding->write, finding->challenger};
    const auto why = check::reject(trace, claim, finding->schedule);
    if (!why) continue;
    ++rejected;
    out += fmt::format("rejected: {} at event {}: {}\n", report::clean(finding->rule),
                       finding->event, *why);
  }
  out += findings.empty()
             ? "There is no schedule in the findings.\n"
             : fmt::format("{}: {} of {} accepted.\n", report::clean(call.trace),
                           findings.size() - rejected, report::many(findings.size(), "schedule"));
  if (!call.quiet) {
    if (const Status status = print_lines(out); !status) {
      complain(status.error().message);
      return kWrong;
    }
  }
  return rejected == 0 ? kClean : kFindings;
}

}  // namespace

void add_replay_check(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<ReplayCall>();
  CLI::App* command = app.add_subcommand(
      "replay-check", "Verify the schedules of saved findings against their trace");
  command
      ->add_option("FINDINGS", call->findings,
                   "What `syndrome check --check nondeterminism --format json` wrote")
      ->required()
      ->type_name("");
  command->add_option("TRACE", call->trace, "The trace that they are about")
      ->required()
      ->type_name("");
  command->add_flag("--lenient", call->lenient, "Pass over ill-formed events, as `check` did");
  command->add_flag("-q,--quiet", call->quiet, "The exit code alone");
  command->footer(
      "Knows the definition of a correct reordering and nothing of how it was found.\n"
      "Exit code: 0 all are accepted, 1 one is not, 2 the input or the call is wrong.\n\n"
      "Example:\n"
      "  syndrome check --check nondeterminism --format json -o findings.json trace.std\n"
      "  syndrome replay-check findings.json trace.std");
  command->callback([call, &exit_code] { exit_code = run(*call); });
}

}  // namespace syndrome::cli
