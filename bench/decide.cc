// Reads a trace until an engine knows that it is not atomic, and says only that: what the papers
// measure. `syndrome check --first` goes on and finds the cycle.
//
//   bench_decide ENGINE FILE       prints the event, 0 when the trace is atomic

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "check/analysis.h"
#include "check/atomicity/aerodrome.h"
#include "check/atomicity/reach.h"
#include "check/atomicity/velodrome.h"
#include "trace/input.h"
#include "trace/wellformed.h"

namespace syndrome::bench {
namespace {

template <check::AtomicityEngine Engine>
Result<EventNumber> decide(trace::Input& input) {
  auto source = input.read();
  if (!source) return source.error();
  Error fault;
  trace::WellFormed stage([&](const trace::Fault& found) {
    fault.message = fmt::format("event {}: {}", found.event, found.message);
    return false;
  });
  Engine engine;
  EventNumber last = 0;
  const auto knows = [&] { return engine.violation().event != 0; };
  while (!knows()) {
    Result<Batch> batch = (*source)->next();
    if (!batch) return batch.error();
    if (batch->empty()) break;
    if (!stage.apply(*batch, (*source)->names())) return fault;
    check::dispatch(engine, *batch, knows);
    last = batch->first + batch->events.size() - 1;
  }
  if (!knows()) engine.finish(last);
  return engine.violation().event;
}

Result<EventNumber> decide(std::string_view engine, const std::string& path) {
  Result<trace::Input> input = trace::Input::open(path);
  if (!input) return input.error();
  if (engine == "reach") return decide<check::Reach>(*input);
  if (engine == "aerodrome") return decide<check::Aerodrome>(*input);
  if (engine == "velodrome") return decide<check::Velodrome>(*input);
  return Error{fmt::format("no engine is called '{}'", engine)};
}

}  // namespace
}  // namespace syndrome::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: bench_decide ENGINE FILE\n");
    return 2;
  }
  const auto event = syndrome::bench::decide(argv[1], argv[2]);
  if (!event) {
    fmt::print(stderr, "bench_decide: {}: {}\n", argv[2], event.error().message);
    return 2;
  }
  fmt::print("{}\n", *event);
  return 0;
}
