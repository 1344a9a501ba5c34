// syndrome trace convert: a trace in another format.

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/findings.h"
#include "cli/interrupt.h"
#include "cli/io.h"
#include "cli/progress.h"
#include "cli/trace_copy.h"
#include "report/graph.h"
#include "report/json.h"
#include "report/timeline.h"
#include "trace/input.h"
#include "trace/output_file.h"

namespace syndrome::cli {
namespace {

struct ConvertCall {
  std::string trace;
  std::string output;
  std::string to;
  std::string findings;
  std::size_t finding = 1;
  unsigned jobs = 0;
};

using Reports = std::vector<report::Report>;

Result<Reports> read_reports(const std::string& file) {
  if (file.empty()) return Reports();
  Result<report::SavedReports> saved = read_findings(file);
  if (!saved) return saved.error();
  return std::move(saved->reports);
}

/// The finding of that number, counted from 1 over all checks.
const report::Finding* numbered(const Reports& reports, std::size_t number, std::size_t& found) {
  found = 0;
  for (const report::Report& report : reports) {
    for (const report::CheckReport& entry : report.checks) {
      for (const report::Finding& finding : entry.findings) {
        if (++found == number) return &finding;
      }
    }
  }
  return nullptr;
}

/// Leads the events past `take`, which says whether it wants more of them.
template <class Take>
Status read_events(trace::Source& source, Take take) {
  catch_interrupt();
  ProgressBar bar(true);
  EventNumber events = 0;
  while (!interrupted()) {
    const Result<Batch> next = source.next();
    bar.update(events, source.progress());
    if (!next || next->empty()) {
      bar.erase();
      return next ? Status() : Status(next.error());
    }
    const Result<bool> more = take(*next, source.names());
    if (!more || !*more) {
      bar.erase();
      return more ? Status() : Status(more.error());
    }
    events += next->events.size();
  }
  bar.erase();
  return Error{fmt::format("interrupted after {} events: nothing was written", events)};
}

Status write_timeline(trace::Source& source, const Reports& reports, const std::string& path) {
  Result<std::unique_ptr<trace::OutputFile>> file = trace::OutputFile::create(path);
  if (!file) return Error{fmt::format("-o {}: {}", path, file.error().message)};
  report::Timeline timeline(reports);
  std::string text;
  timeline.begin(text);
  const auto flush = [&]() -> Status {
    const Status status = (*file)->write(text);
    text.clear();
    return status;
  };
  const Status read =
      read_events(source, [&](const Batch& batch, const Names& names) -> Result<bool> {
        timeline.take(batch, names, text);
        if (const Status status = flush(); !status) return status.error();
        return true;
      });
  if (!read) return read;
  timeline.end(text);
  if (const Status status = flush(); !status) return status;
  return (*file)->commit();
}

Status write_graph(trace::Source& source, const report::Finding& finding, const std::string& path) {
  report::TransactionGraph graph(finding);
  const Status read =
      read_events(source, [&graph](const Batch& batch, const Names& names) -> Result<bool> {
        graph.take(batch, names);
        return graph.wants(batch.first + batch.events.size());
      });
  return read ? write_file(path, graph.dot()) : read;
}

int run(const ConvertCall& call) {
  const auto wrong = [](const std::string& message) {
    complain(message);
    return kWrong;
  };
  if (same_file(call.trace, call.output)) {
    return wrong(
        fmt::format("-o {}: is the trace itself; give the new one another name", call.output));
  }
  const bool timeline = call.to == "perfetto";
  const bool graph = call.to == "dot";
  if (!call.findings.empty() && !timeline && !graph) {
    return wrong("--findings: only --to perfetto and --to dot show findings; leave it out");
  }
  const Result<Reports> reports = read_reports(call.findings);
  if (!reports) return wrong(reports.error().message);
  std::size_t found = 0;
  const report::Finding* const finding = numbered(*reports, call.finding, found);
  if (graph && finding == nullptr) {
    return wrong(
        call.findings.empty()
            ? "--to dot: draws the transactions around a finding; give --findings FILE, "
              "which `syndrome check --format json` writes"
            : fmt::format("--finding {}: {} has {} findings", call.finding, call.findings, found));
  }
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
  if (!timeline && !graph) return copy_trace(**source, call.trace, call.output, call.to);
  const Status status = timeline ? write_timeline(**source, *reports, call.output)
                                 : write_graph(**source, *finding, call.output);
  for (const std::string& warning : (*source)->warnings()) warn(call.trace, warning);
  if (status) return kClean;
  complain(call.trace, status.error());
  return interrupted() ? kInterrupted : kWrong;
}

}  // namespace

void add_trace_convert(CLI::App& trace, int& exit_code) {
  auto call = std::make_shared<ConvertCall>();
  CLI::App* command = trace.add_subcommand("convert", "Write a trace in another format");
  command->add_option("TRACE", call->trace, "A trace file in any format; - is standard input")
      ->required()
      ->type_name("");
  command->add_option("-o,--output", call->output, "The new file; - is standard output")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--to", call->to,
                   "syn or std, a trace (default: by the suffix of FILE); perfetto, a timeline for "
                   "the Perfetto viewer; dot, the transactions around a finding, for Graphviz")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"syn", "std", "perfetto", "dot"}).description(""));
  command
      ->add_option("--findings", call->findings,
                   "What `syndrome check --format json` wrote of this trace: drawn as flows by "
                   "perfetto, and what dot is about")
      ->type_name("FILE");
  command->add_option("--finding", call->finding, "Which of them dot is about, counted from 1")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}).description(""))
      ->capture_default_str();
  command->add_option("--jobs", call->jobs, "Threads for reading (default: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U).description(""));
  command->footer(
      "Comments are not kept.\n\n"
      "Example:\n"
      "  syndrome trace convert trace.std.gz -o trace.syn\n"
      "  syndrome check --format json -o found.json run.syn\n"
      "  syndrome trace convert run.syn --to perfetto --findings found.json -o run.json\n"
      "  syndrome trace convert run.syn --to dot --findings found.json -o found.dot");
  command->callback([call, &exit_code] { exit_code = run(*call); });
}

}  // namespace syndrome::cli
