// syndrome trace validate: every way in which a trace is ill-formed.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/io.h"
#include "cli/progress.h"
#include "report/cells.h"
#include "report/words.h"
#include "trace/input.h"
#include "trace/wellformed.h"

namespace syndrome::cli {
namespace {

struct ValidateCall {
  std::string trace;
  bool quiet = false;
  unsigned jobs = 0;
};

int run(const ValidateCall& call) {
  Result<trace::Input> input = trace::Input::open(call.trace, {call.jobs});
  if (!input) {
    complain(call.trace, input.error());
    return kWrong;
  }
  Result<std::unique_ptr<trace::Source>> source = input->read();
  if (!source) {
    complain(call.trace, source.error());
    return kWrong;
  }
  const std::string name = call.trace == "-" ? "standard input" : report::clean(call.trace);
  ProgressBar bar(!call.quiet);
  std::string lines;  // faults that are not written yet
  std::uint64_t faults = 0;
  trace::WellFormed wellformed([&](const trace::Fault& fault) {
    ++faults;
    if (!call.quiet) {
      lines += fmt::format("{}: event {}: {}\n", name, fault.event, report::clean(fault.message));
    }
    return true;
  });
  EventNumber events = 0;
  const auto print = [&] {
    if (!lines.empty()) bar.erase();
    const Status status = print_lines(lines);
    lines.clear();
    if (!status) complain(status.error().message);
    return status.ok();
  };
  while (true) {
    Result<Batch> next = (*source)->next();
    if (!next) {
      if (!print()) return kWrong;
      bar.erase();
      complain(call.trace, next.error());
      return kWrong;
    }
    if (next->empty()) break;
    events += next->events.size();
    // It goes on at every fault, so it says that all is well.
    [[maybe_unused]] const bool all = wellformed.apply(*next, (*source)->names());
    if (!print()) return kWrong;
    bar.update(events, (*source)->progress());
  }
  bar.erase();
  for (const std::string& warning : (*source)->warnings()) warn(call.trace, warning);
  if (!call.quiet) {
    lines = fmt::format("{}: {} in {}\n", name,
                        faults == 0 ? "no fault" : report::many(faults, "fault"),
                        report::many(events, "event"));
    if (!print()) return kWrong;
  }
  return faults == 0 ? kClean : kWrong;
}

}  // namespace

void add_trace_validate(CLI::App& trace, int& exit_code) {
  auto call = std::make_shared<ValidateCall>();
  CLI::App* command = trace.add_subcommand("validate", "Is a trace well-formed? Lists every fault");
  command->add_option("TRACE", call->trace, "A trace file in any format; - is standard input")
      ->required()
      ->type_name("");
  command->add_flag("-q,--quiet", call->quiet, "The exit code alone");
  command->add_option("--jobs", call->jobs, "Threads for reading (default: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U).description(""));
  command->footer(
      "Exit code: 0 well-formed, 2 not.\n\n"
      "Example:\n"
      "  syndrome trace validate trace.std");
  command->callback([call, &exit_code] { exit_code = run(*call); });
}

}  // namespace syndrome::cli
