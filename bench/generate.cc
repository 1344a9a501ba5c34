// Writes one of the traces that are measured, as PREFIX.std and PREFIX.syn.
//
//   bench_generate NAME EVENTS PREFIX [clean]
//
// NAME is a shape (a, b, c, d) or a program of the AeroDrome paper (paper_rows.h), of which EVENTS
// is the most; with `clean`, its violation is left out. Prints what the trace has in it: events,
// threads, locks, variables, outermost blocks.

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "paper_rows.h"
#include "shapes.h"
#include "trace/std_format.h"
#include "trace/syn_writer.h"

namespace syndrome::bench {
namespace {

[[noreturn]] void give_up(const std::string& message) {
  fmt::print(stderr, "bench_generate: {}\n", message);
  std::exit(2);
}

/// How many different targets were seen.
class Distinct {
 public:
  void add(std::size_t id) {
    if (id >= seen_.size()) seen_.resize(id + 1);
    if (!seen_[id]) ++count_;
    seen_[id] = true;
  }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::vector<bool> seen_;
  std::size_t count_ = 0;
};

std::unique_ptr<trace::Source> open(std::string_view name, std::uint64_t events, bool clean) {
  for (const Shape& shape : kShapes) {
    if (shape.name != name) continue;
    auto source = trace::GeneratedSource::make(options_of(shape, events));
    if (!source) give_up(source.error().message);
    return std::move(source.value());
  }
  for (const PaperRow& row : paper_rows()) {
    if (row.name != name) continue;
    PaperShape shape = scaled(row, events);
    if (clean) shape.violation = 0;
    return std::make_unique<PaperSource>(shape);
  }
  give_up(fmt::format("no trace is called '{}'", name));
}

template <class T>
T taken(Result<T> result) {
  if (!result) give_up(result.error().message);
  return std::move(result.value());
}
void require(const Status& status) {
  if (!status) give_up(status.error().message);
}

void write(trace::Source& source, const std::string& prefix) {
  const std::unique_ptr<trace::Sink> std_sink = taken(trace::write_std(prefix + ".std"));
  const std::unique_ptr<trace::Sink> syn_sink = taken(trace::write_syn(prefix + ".syn"));
  std::uint64_t events = 0;
  std::uint64_t blocks = 0;
  Distinct threads;
  Distinct locks;
  Distinct variables;
  while (true) {
    const Batch batch = taken(source.next());
    if (batch.empty()) break;
    require(std_sink->append(batch.events, source.names()));
    require(syn_sink->append(batch.events, source.names()));
    events += batch.events.size();
    for (const Event& event : batch.events) {
      threads.add(event.thread.index());
      const auto space = target_space(event.kind);
      if (space == Space::kVariable) variables.add(event.target);
      if (space == Space::kLock) locks.add(event.target);
      if (event.kind == EventKind::kBegin) ++blocks;  // none is nested
    }
  }
  require(std_sink->close());
  require(syn_sink->close());
  fmt::print("{} {} {} {} {}\n", events, threads.count(), locks.count(), variables.count(), blocks);
}

}  // namespace
}  // namespace syndrome::bench

int main(int argc, char** argv) {
  using namespace syndrome::bench;
  const bool clean = argc == 5 && std::string_view(argv[4]) == "clean";
  if (argc != 4 && !clean) {
    fmt::print(stderr, "usage: bench_generate NAME EVENTS PREFIX [clean]\n");
    return 2;
  }
  std::uint64_t events = 0;
  const std::string_view text = argv[2];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), events);
  if (error != std::errc() || end != text.data() + text.size() || events == 0) {
    give_up(fmt::format("expected a number of events, found '{}'", text));
  }
  const auto source = open(argv[1], events, clean);
  write(*source, argv[3]);
  return 0;
}
