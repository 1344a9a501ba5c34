// syndrome trace cat: the events of a trace as STD lines.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check/print/print.h"
#include "cli/command.h"
#include "cli/io.h"
#include "trace/input.h"
#include "trace/std_format.h"

namespace syndrome::cli {
namespace {

struct CatCall {
  std::string trace;
  EventNumber around = 0;  // 0: not given
  EventNumber context = 10;
  EventNumber from = 1;
  EventNumber to = std::numeric_limits<EventNumber>::max();
  std::string thread;
  bool number = false;
};

/// Prints the chosen events: plain, so that another program can read them, or numbered.
class Printer {
 public:
  Printer(std::unique_ptr<trace::Sink> sink) : sink_(std::move(sink)), print_(true) {}

  Status take(const Batch& batch, const Names& names) {
    if (sink_ != nullptr) return sink_->append(batch.events, names);
    print_.take(batch, names);
    const Status status = write_stdout(print_.text());
    print_.text().clear();
    return status;
  }

  Status close() { return sink_ != nullptr ? sink_->close() : Status(); }

 private:
  std::unique_ptr<trace::Sink> sink_;  // null when lines are numbered
  check::Print print_;
};

/// Of one thread, or of all when `name` is empty. A thread is looked for when its name appears.
class OfThread {
 public:
  explicit OfThread(std::string name) : name_(std::move(name)) {}

  bool operator()(const Event& event, const Names& names) {
    if (name_.empty()) return true;
    const StringTable& table = names.table(Space::kThread);
    for (; !id_ && looked_at_ < table.size(); ++looked_at_) {
      if (table[looked_at_] == name_) id_ = ThreadId(looked_at_);
    }
    return id_ == event.thread;
  }
  [[nodiscard]] bool found() const { return name_.empty() || id_.has_value(); }

 private:
  std::string name_;
  std::optional<ThreadId> id_;
  std::size_t looked_at_ = 0;
};

Status print(trace::Source& source, const CatCall& call, Printer& printer, OfThread& of_thread) {
  EventNumber next_number = 1;
  while (next_number <= call.to) {
    Result<Batch> next = source.next();
    if (!next) return next.error();
    if (next->empty()) break;
    const Names& names = source.names();
    next_number = next->first + next->events.size();
    // Neighbours that are wanted go out together.
    std::size_t run = 0;
    for (std::size_t i = 0; i <= next->events.size(); ++i) {
      const EventNumber number = next->first + i;
      const bool wanted = i < next->events.size() && number >= call.from && number <= call.to &&
                          of_thread(next->events[i], names);
      if (wanted) {
        ++run;
        continue;
      }
      if (run != 0) {
        const Batch part{next->events.subspan(i - run, run), number - run};
        if (const Status status = printer.take(part, names); !status) return status;
      }
      run = 0;
    }
  }
  return {};
}

int run(CatCall call) {
  if (call.around != 0) {
    call.from = call.around > call.context ? call.around - call.context : 1;
    call.to = call.around > call.to - call.context ? call.to : call.around + call.context;
  }
  Result<trace::Input> input = trace::Input::open(call.trace);
  if (!input) {
    complain(call.trace, input.error());
    return kWrong;
  }
  Result<std::unique_ptr<trace::Source>> source = input->read();
  if (!source) {
    complain(call.trace, source.error());
    return kWrong;
  }
  std::unique_ptr<trace::Sink> sink;
  if (!call.number) {
    Result<std::unique_ptr<trace::Sink>> opened = trace::write_std("-");
    if (!opened) {
      complain(opened.error().message);
      return kWrong;
    }
    sink = std::move(*opened);
  }
  Printer printer(std::move(sink));
  OfThread of_thread(call.thread);
  const Status printed = print(**source, call, printer, of_thread);
  const Status closed = printer.close();  // what came before an error is printed too
  for (const std::string& warning : (*source)->warnings()) warn(call.trace, warning);
  if (!printed) {
    complain(call.trace, printed.error());
    return kWrong;
  }
  if (!closed) {
    complain("-", closed.error());
    return kWrong;
  }
  if (!of_thread.found()) {
    complain(call.trace,
             Error{"--thread: there is no thread '" + call.thread + "' in the part read"});
    return kWrong;
  }
  return kClean;
}

}  // namespace

void add_trace_cat(CLI::App& trace, int& exit_code) {
  auto call = std::make_shared<CatCall>();
  CLI::App* command = trace.add_subcommand("cat", "Print the events of a trace as STD lines");
  command->add_option("TRACE", call->trace, "A trace file in any format; - is standard input")
      ->required()
      ->type_name("");
  const auto number_of_event = [command](const char* name, EventNumber& value, const char* help) {
    return command->add_option(name, value, help)
        ->type_name("N")
        ->check(
            CLI::Range(EventNumber{1}, std::numeric_limits<EventNumber>::max()).description(""));
  };
  CLI::Option* from = number_of_event("--from", call->from, "The first event to print");
  CLI::Option* to = number_of_event("--to", call->to, "The last event to print");
  CLI::Option* around = number_of_event("--around", call->around, "This event and its neighbours")
                            ->excludes(from)
                            ->excludes(to);
  command->add_option("--context", call->context, "How many neighbours on each side")
      ->type_name("N")
      ->needs(around)
      ->capture_default_str();
  command->add_option("--thread", call->thread, "Events of this thread alone")->type_name("T");
  command->add_flag("--number", call->number, "Begin each line with the event's number");
  command->footer(
      "Example:\n"
      "  syndrome trace cat --number --around 1234 trace.syn");
  command->callback([call, &exit_code] { exit_code = run(*call); });
}

}  // namespace syndrome::cli
