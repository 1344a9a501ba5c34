// Reading: .syn with one thread and with all, STD, and the well-formedness stage behind them.

#include <benchmark/benchmark.h>

#include <string>

#include "micro.h"
#include "trace/input.h"
#include "trace/wellformed.h"

namespace syndrome::bench {
namespace {

void read_file(benchmark::State& state, const std::string& format, unsigned jobs) {
  const auto shape = static_cast<std::size_t>(state.range(0));
  state.SetLabel("shape " + std::string(kShapes[shape].name));
  const std::string& path = generated_file(shape, format);
  std::int64_t events = 0;
  while (state.KeepRunning()) {
    Result<trace::Input> input = trace::Input::open(path, {.jobs = jobs});
    if (!input) return state.SkipWithError(input.error().message.c_str());
    auto source = input->read();
    if (!source) return state.SkipWithError(source.error().message.c_str());
    while (true) {
      const Result<Batch> batch = (*source)->next();
      if (!batch) return state.SkipWithError(batch.error().message.c_str());
      if (batch->empty()) break;
      benchmark::DoNotOptimize(batch->events.data());
      events += static_cast<std::int64_t>(batch->events.size());
    }
  }
  state.SetItemsProcessed(events);
}

void syn_one_thread(benchmark::State& state) {
  read_file(state, "syn", 1);
}
void syn_all_threads(benchmark::State& state) {
  read_file(state, "syn", 0);
}
void std_text(benchmark::State& state) {
  read_file(state, "std", 0);
}

void well_formed(benchmark::State& state) {
  const auto shape = static_cast<std::size_t>(state.range(0));
  state.SetLabel("shape " + std::string(kShapes[shape].name));
  const Generated& trace = generated(shape);
  std::vector<Event> events = trace.events;  // the stage writes flags, here always the same
  constexpr std::size_t kBatch = 8192;       // as the readers make them
  while (state.KeepRunning()) {
    trace::WellFormed stage([](const trace::Fault&) { return false; });
    for (std::size_t i = 0; i < events.size(); i += kBatch) {
      Batch batch{std::span(events).subspan(i, std::min(kBatch, events.size() - i)), i + 1};
      if (!stage.apply(batch, trace.names)) return state.SkipWithError("an ill-formed trace");
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(events.size()));
}

// Wall time: readers have threads of their own.
BENCHMARK(syn_one_thread)->DenseRange(0, kShapes.size() - 1)->UseRealTime();
BENCHMARK(syn_all_threads)->DenseRange(0, kShapes.size() - 1)->UseRealTime();
BENCHMARK(std_text)->DenseRange(0, kShapes.size() - 1)->UseRealTime();
BENCHMARK(well_formed)->DenseRange(0, kShapes.size() - 1);

}  // namespace
}  // namespace syndrome::bench
