// The engines alone, on events in memory.

#include <benchmark/benchmark.h>

#include <string>

#include "check/analysis.h"
#include "check/atomicity/aerodrome.h"
#include "check/atomicity/reach.h"
#include "check/atomicity/velodrome.h"
#include "micro.h"

namespace syndrome::bench {
namespace {

template <check::AtomicityEngine Engine>
void engine(benchmark::State& state) {
  const auto shape = static_cast<std::size_t>(state.range(0));
  state.SetLabel("shape " + std::string(kShapes[shape].name));
  std::vector<Event> events = generated(shape).events;
  while (state.KeepRunning()) {
    Engine checker;
    // As the check does it.
    check::dispatch(checker, Batch{events, 1}, [&] { return checker.violation().event != 0; });
    checker.finish(events.size());
    if (checker.violation().event != 0) return state.SkipWithError("a violation in a clean trace");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(events.size()));
}

BENCHMARK(engine<check::Reach>)->Name("reach")->DenseRange(0, kShapes.size() - 1);
BENCHMARK(engine<check::Aerodrome>)->Name("aerodrome")->DenseRange(0, kShapes.size() - 1);
BENCHMARK(engine<check::Velodrome>)->Name("velodrome")->DenseRange(0, kShapes.size() - 1);

}  // namespace
}  // namespace syndrome::bench
