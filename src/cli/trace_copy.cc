#include "cli/trace_copy.h"

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/io.h"
#include "cli/progress.h"

namespace syndrome::cli {

int copy_trace(trace::Source& source, const std::string& from, const std::string& path,
               const std::string& to) {
  Result<std::unique_ptr<trace::Sink>> sink = open_sink(path, to);
  if (!sink) {
    complain(sink.error().message);
    return kWrong;
  }
  catch_interrupt();
  ProgressBar bar(true);
  EventNumber events = 0;
  while (!interrupted()) {
    const Result<Batch> next = source.next();
    if (!next) {
      bar.erase();
      complain(from, next.error());
      return kWrong;
    }
    if (next->empty()) {
      const Status closed = (*sink)->close();
      bar.erase();
      if (!closed) {
        complain(path, closed.error());
        return kWrong;
      }
      for (const std::string& warning : source.warnings()) warn(from, warning);
      return kClean;
    }
    if (const Status status = (*sink)->append(next->events, source.names()); !status) {
      bar.erase();
      complain(path, status.error());
      return kWrong;
    }
    events += next->events.size();
    bar.update(events, source.progress());
  }
  bar.erase();
  complain(fmt::format("interrupted after {} events: there is no complete {}", events, path));
  return kInterrupted;
}

}  // namespace syndrome::cli
