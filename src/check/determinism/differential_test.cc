// The check against the definition, over random traces.
//
// A failure prints the shrunk trace; `determinism_fuzz COUNT SEED` (tests/fuzz) runs more of them.

#include "check/determinism/differential.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "check/samples/random_trace.h"

namespace syndrome::check::determinism {
namespace {

// Several tests, so that ctest can run them side by side: 12,000 traces in all.
class DeterminismDifferential : public testing::TestWithParam<std::uint64_t> {};
constexpr std::uint64_t kTracesEach = 3000;

TEST_P(DeterminismDifferential, AgreesWithTheOracle) {
  Tally tally;
  const auto found = first_disagreement(GetParam() * kTracesEach, kTracesEach, &tally);
  EXPECT_FALSE(found) << *found;
  // Traces of every sort, or the comparison says little.
  EXPECT_GT(tally.conflicts, kTracesEach / 12);
  EXPECT_GT(tally.cycles, kTracesEach / 20);
  EXPECT_GT(tally.inner_cycles, kTracesEach / 50);
  EXPECT_LT(tally.violated, kTracesEach * 9 / 10);
}

/// The same trace with functions: its blocks are marked functions, and others are called between.
struct WithFunctions {
  explicit WithFunctions(const SmallTrace& trace, std::uint64_t seed) : names(trace.names) {
    const LabelId marked(names.table(Space::kLabel).append("deterministic sort(int)"));
    const LabelId plain(names.table(Space::kLabel).append("less(int, int)"));
    for (Event event : trace.events) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      if (seed >> 62U == 0) {
        for (const EventKind kind : {EventKind::kEnter, EventKind::kExit}) {
          Event call;
          call.kind = kind;
          call.thread = event.thread;
          call.target = plain.value;
          events.push_back(call);
        }
      }
      if (event.kind == EventKind::kBegin || event.kind == EventKind::kEnd) {
        event.kind = event.kind == EventKind::kBegin ? EventKind::kEnter : EventKind::kExit;
        event.target = marked.value;
        event.flags = 0;
      }
      events.push_back(event);
      numbers.push_back(events.size());
    }
  }
  /// Of an event of the trace without functions.
  [[nodiscard]] EventNumber number(EventNumber before) const { return numbers[before - 1]; }

  std::vector<Event> events;
  Names names;
  std::vector<EventNumber> numbers;
};

TEST(DeterminismOfFunctions, IsThatOfBlocks) {
  using Found = std::tuple<std::string, EventNumber, std::vector<EventNumber>>;
  std::size_t findings = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SmallTrace trace = random_trace(seed, {.orders = false, .forks = true});
    for (Event& event : trace.events) {  // an exit would belong to whatever is innermost
      const bool function = event.kind == EventKind::kEnter || event.kind == EventKind::kExit;
      if (function) event.kind = EventKind::kFence;
    }
    const WithFunctions with(trace, seed);
    for (const bool filter : {true, false}) {
      Options options;
      options.all = true;
      options.race_filter = filter;
      std::set<Found> expected;
      for (const Finding& each : run_on(trace.events, trace.names, options).findings) {
        std::vector<EventNumber> events;
        for (const EventNumber event : each.events) events.push_back(with.number(event));
        expected.emplace(each.rule, with.number(each.block), events);
      }
      options.every_begin_is_deterministic = false;
      std::set<Found> found;
      for (const Finding& each : run_on(with.events, with.names, options).findings) {
        found.emplace(each.rule, each.block, each.events);
      }
      ASSERT_EQ(found, expected) << "seed " << seed << '\n' << to_std(trace);
      findings += found.size();
    }
  }
  EXPECT_GT(findings, 1000U);
}

INSTANTIATE_TEST_SUITE_P(FixedSeeds, DeterminismDifferential, testing::Range<std::uint64_t>(0, 4));

TEST(DeterminismDifferentialFresh, AgreesWithTheOracleOnASeedOfToday) {
  const auto seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  std::cout << "seed " << seed << '\n';
  const auto found = first_disagreement(seed, 1000);
  EXPECT_FALSE(found) << "seed " << seed << '\n' << *found;
}

}  // namespace
}  // namespace syndrome::check::determinism
