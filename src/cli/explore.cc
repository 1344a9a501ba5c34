// syndrome explore: a trace in a browser, from the whole run down to single events.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/checker.h"
#include "cli/command.h"
#include "cli/findings.h"
#include "cli/interrupt.h"
#include "cli/io.h"
#include "cli/progress.h"
#include "explore/answers.h"
#include "explore/explorer.h"
#include "explore/open.h"
#include "explore/server.h"
#include "report/json.h"
#include "report/quoted.h"

namespace syndrome::cli {
namespace {

struct ExploreCall {
  std::string trace;
  std::uint16_t port = 0;
  std::string findings;
  bool no_check = false;
  bool index_only = false;
  CheckCall check;
};

/// What is known of findings, as JSON for the page; written by one thread and read by others.
class Known {
 public:
  [[nodiscard]] std::string get() const {
    const std::scoped_lock lock(mutex_);
    return json_;
  }
  void set(std::string json) {
    const std::scoped_lock lock(mutex_);
    json_ = std::move(json);
  }
  void set(std::span<const report::Report> reports) {
    report::JsonOptions options;
    options.stats = true;
    options.page = true;
    set(fmt::format(R"({{"state":"ready","reports":{}}})",
                    report::to_json(reports, true, options)));
  }

 private:
  mutable std::mutex mutex_;
  std::string json_ = R"({"state":"none"})";
};

/// Checks the trace while the page is looked at.
void check_beside(CheckCall call, Known& known) {
  call.on_progress = [&known](const check::Tick& tick) {
    known.set(fmt::format(R"({{"state":"running","pass":{},"events":{},"done":{},"total":{}}})",
                          tick.pass, tick.events, tick.bytes.done, tick.bytes.total));
  };
  known.set(R"({"state":"running","pass":1,"events":0,"done":0,"total":0})");
  Checker checker(call);
  const auto fail = [&known](const Error& error) {
    known.set(fmt::format(R"({{"state":"failed","error":{}}})", report::quoted(error.message)));
  };
  // The call itself was looked at before the server began.
  if (const std::optional<Error> wrong = checker.prepare()) return fail(*wrong);
  const Result<report::Report> report = checker.look_at(call.traces.front());
  if (!report) return fail(report.error());
  known.set({&*report, 1});
}

/// Saved findings, if they can be of this trace.
Result<std::vector<report::Report>> saved_findings(const std::string& file, EventNumber events) {
  Result<report::SavedReports> saved = read_findings(file);
  if (!saved) return saved.error();
  for (const report::Report& report : saved->reports) {
    for (const report::CheckReport& entry : report.checks) {
      for (const report::Finding& finding : entry.findings) {
        EventNumber last = finding.event;
        for (const report::Site& site : finding.sites) last = std::max(last, site.event);
        if (last <= events) continue;
        return Error{fmt::format(
            "{}: speaks of event {}, and the trace has {}: these are the findings of another trace",
            file, last, events)};
      }
    }
  }
  return std::move(saved->reports);
}

int run(ExploreCall& call) {
  const auto wrong = [](const std::string& message) {
    complain(message);
    return kWrong;
  };
  if (call.trace == "-") {
    return wrong(
        "expected a file: standard input cannot be read from anywhere; write it to a file first");
  }
  call.check.traces = {call.trace};
  call.check.quiet = true;
  if (const std::optional<Error> fault = Checker(call.check).prepare())
    return wrong(fault->message);
  catch_ending();

  ProgressBar bar(true);
  explore::OpenOptions options;
  options.jobs = call.check.jobs;
  options.interrupted = interrupted;
  options.on_progress = [&bar](EventNumber events, trace::Progress bytes) {
    bar.update(events, bytes);
  };
  Result<explore::Opened> opened = explore::open_trace(call.trace, options);
  bar.erase();
  if (!opened) {
    complain(call.trace, opened.error());
    return interrupted() ? kInterrupted : kWrong;
  }
  for (const std::string& note : opened->notes) warn(call.trace, note);
  for (const std::string& warning : opened->index.warnings) warn(call.trace, warning);
  if (call.index_only) {
    const Status status = write_stdout(fmt::format(
        "{}: {}\n", opened->kept.empty() ? "no index was kept" : opened->kept,
        opened->built ? "the index of the trace, built now" : "the index of the trace, as it was"));
    return status && !opened->kept.empty() ? kClean : kWrong;
  }
  explore::Explorer explorer(std::move(*opened));
  Known known;
  if (!call.findings.empty()) {
    const Result<std::vector<report::Report>> saved =
        saved_findings(call.findings, explorer.events());
    if (!saved) return wrong(saved.error().message);
    known.set(*saved);
  }
  Result<std::unique_ptr<explore::Server>> server = explore::Server::listen(call.port);
  if (!server) return wrong(server.error().message);
  if (const Status status = write_stdout(fmt::format("{}\n", (*server)->address())); !status) {
    return wrong(status.error().message);
  }
  static_cast<void>(
      write_to(2, "syndrome: open this address in a browser on this machine; Ctrl-C ends it\n"));
  std::thread checking;
  if (call.findings.empty() && !call.no_check) {
    checking = std::thread([&call, &known] { check_beside(call.check, known); });
  }
  const explore::Answers answers(explorer, call.trace, [&known] { return known.get(); });
  (*server)->serve(answers, interrupted);
  if (checking.joinable()) checking.join();
  return kClean;
}

}  // namespace

void add_explore(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<ExploreCall>();
  CLI::App* command = app.add_subcommand(
      "explore", "Look at a trace in a browser: from the whole run down to single events");
  command->add_option("TRACE", call->trace, "A trace file in any format")
      ->required()
      ->type_name("");
  command
      ->add_option("--port", call->port,
                   "Where to listen, on this machine alone (default: one that is free)")
      ->type_name("N");
  CLI::Option* findings =
      command
          ->add_option("--findings", call->findings,
                       "What `syndrome check --format json` wrote of this trace; without it, the "
                       "trace is checked while one looks at it")
          ->type_name("FILE");
  command->add_flag("--no-check", call->no_check, "Check nothing: only look")->excludes(findings);
  command->add_flag("--index-only", call->index_only,
                    "Build the index if there is none, say where it is, and end");
  add_what_to_check(*command, call->check);
  command->footer(
      "Prints the address of the page, which begins with a token that is new each time, and\n"
      "serves it to this machine until Ctrl-C. The index is built once and kept as TRACE.idx, or\n"
      "in the cache folder where that cannot be written to.\n\n"
      "Example:\n"
      "  syndrome explore run.syn\n"
      "  syndrome explore --findings found.json --port 8080 run.syn");
  command->callback([call, &exit_code] { exit_code = run(*call); });
}

}  // namespace syndrome::cli
