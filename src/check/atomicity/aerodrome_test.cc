// What the random traces (differential_test.cc) cannot show: memory and work of the engine.

#include "check/atomicity/aerodrome.h"

#include <gtest/gtest.h>

#include <string_view>

#include "check/atomicity/aerodrome_literal.h"
#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

static_assert(AtomicityEngine<Aerodrome>);

std::uint64_t stat(const Aerodrome& engine, std::string_view name) {
  for (const Stat& stat : engine.stats()) {
    if (stat.name == name) return stat.value;
  }
  ADD_FAILURE() << "no statistic " << name;
  return 0;
}

/// Events by hand, numbered as they come.
class Play {
 public:
  explicit Play(Aerodrome::Tuning tuning = {}) : engine(tuning) {}

  Play& operator()(std::size_t thread, EventKind kind, std::size_t target = 0) {
    Event event;
    event.thread = ThreadId(thread);
    event.kind = kind;
    event.target = static_cast<std::uint32_t>(target);
    dispatch(engine, event, ++number);
    return *this;
  }
  /// One block under one lock.
  void block(std::size_t thread, std::size_t lock, std::size_t variable) {
    (*this)(thread, EventKind::kBegin)(thread, EventKind::kAcquire, lock);
    (*this)(thread, EventKind::kRead, variable)(thread, EventKind::kWrite, variable);
    (*this)(thread, EventKind::kRelease, lock)(thread, EventKind::kEnd);
  }

  Aerodrome engine;
  EventNumber number = 0;
};

TEST(Aerodrome, NamesTheThreadThatTheCycleCameBackTo) {
  Play run;
  run(0, EventKind::kBegin)(0, EventKind::kRead, 5)(1, EventKind::kWrite, 5);
  EXPECT_EQ(run.engine.violation().event, 0U);
  run(0, EventKind::kWrite, 5);
  EXPECT_EQ(run.engine.violation().event, 4U);
  EXPECT_EQ(run.engine.violation().thread, ThreadId(0U));
}

TEST(Aerodrome, TheFirstViolationStays) {
  Play run;
  run(0, EventKind::kBegin)(0, EventKind::kRead, 5)(1, EventKind::kWrite, 5);
  run(0, EventKind::kWrite, 5)(1, EventKind::kWrite, 5)(0, EventKind::kWrite, 5);
  EXPECT_EQ(run.engine.violation().event, 4U);
}

TEST(Aerodrome, ManyShortThreadsNeedFewSlots) {
  Play run;
  constexpr std::size_t kThreads = 10'000;
  for (std::size_t child = 1; child <= kThreads; ++child) {
    run(0, EventKind::kFork, child);
    run.block(child, 0, child % 10);
    run.block(0, 0, child % 10);
    run(0, EventKind::kJoin, child);
  }
  EXPECT_EQ(run.engine.violation().event, 0U);
  EXPECT_EQ(stat(run.engine, "entries in a row"), clock::kLanes);
  EXPECT_EQ(stat(run.engine, "slots used again"), kThreads - 1);
  EXPECT_LT(stat(run.engine, "most rows at once"), 5'000U);
}

// Nobody forked them, so nobody knows their last ticks; but they know of no open block either.
TEST(Aerodrome, ThreadsThatJustAppearLeaveTheirSlots) {
  Play run;
  for (std::size_t thread = 1; thread <= 1000; ++thread) {
    run.block(thread, 0, 0);
    run(0, EventKind::kJoin, thread);
  }
  EXPECT_EQ(run.engine.violation().event, 0U);
  EXPECT_EQ(stat(run.engine, "entries in a row"), clock::kLanes);
}

// Thread 1 knows of 0's open block and is joined by 2. When 3 takes over the slot of 1, what 1
// wrote must still lead back to 0.
TEST(Aerodrome, ASlotIsNotUsedAgainWhileItsClockMatters) {
  Play run;
  run(0, EventKind::kBegin)(0, EventKind::kWrite, 0);
  run(1, EventKind::kRead, 0)(1, EventKind::kWrite, 1);
  run(2, EventKind::kJoin, 1);
  run(3, EventKind::kRead, 1)(3, EventKind::kWrite, 2);
  EXPECT_EQ(run.engine.violation().event, 0U);
  run(0, EventKind::kRead, 2);
  EXPECT_EQ(run.engine.violation().event, 8U);
}

TEST(Aerodrome, TheWorkAtEndDoesNotGrowWithTheVariables) {
  std::uint64_t before = 0;
  for (const std::size_t variables : {100U, 10'000U}) {
    Play run;
    for (std::size_t x = 0; x < variables; ++x)
      run(0, EventKind::kWrite, x)(1, EventKind::kRead, x);
    const std::uint64_t warm = stat(run.engine, "rows updated at end");
    for (std::size_t i = 0; i < 1000; ++i) {
      run.block(i % 4, 0, i % variables);
      run.block(i % 4, 1, (i * 7) % variables);
    }
    const std::uint64_t rows = stat(run.engine, "rows updated at end") - warm;
    EXPECT_LE(rows, 4000U);
    if (before != 0) {
      EXPECT_LE(rows, before + before / 10 + 10);
    }
    before = rows;
  }
}

// Every write under an open block makes a snapshot that knows of it; most are soon overwritten.
TEST(Aerodrome, ALongBlockDoesNotCollectDeadRows) {
  Play run;
  run(0, EventKind::kBegin)(0, EventKind::kWrite, 0);
  run(1, EventKind::kRead, 0);
  for (std::size_t i = 0; i < 100'000; ++i) run.block(1, 1, 1 + i % 10);
  EXPECT_LT(stat(run.engine, "most rows at once"), 5'000U);
  run(0, EventKind::kEnd);
  EXPECT_LT(stat(run.engine, "rows updated at end"), 105'000U);
  EXPECT_EQ(run.engine.violation().event, 0U);
}

// Thread 0 learns of 2's block only after 400 clocks have learned of its own; its end tells them.
TEST(Aerodrome, ALongBlockForgetsNoRowThatIsInUse) {
  for (std::size_t x = 0; x < 400; x += 57) {
    Play run;
    run(0, EventKind::kBegin)(0, EventKind::kWrite, 1000);
    run(1, EventKind::kRead, 1000);
    for (std::size_t i = 0; i < 400; ++i) run.block(1, 1, i);
    run(2, EventKind::kBegin)(2, EventKind::kWrite, 1001);
    run(0, EventKind::kRead, 1001)(0, EventKind::kEnd);
    run(3, EventKind::kRead, x)(3, EventKind::kWrite, 1002);
    EXPECT_EQ(run.engine.violation().event, 0U);
    run(2, EventKind::kRead, 1002);
    EXPECT_EQ(run.engine.violation().event, run.number);
  }
}

// The engine differs from Algorithm 1 in how it keeps the clocks, not in what they say.
TEST(Aerodrome, ReportsAtTheSameEventAsAlgorithm1) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const SmallTrace trace = random_trace(seed);
    Aerodrome engine;
    AerodromeLiteral literal;
    TraceState state;
    EventNumber n = 0;
    for (Event event : trace.events) {
      // There the engine ends the child's block, for which Algorithm 1 waits.
      if (event.kind == EventKind::kJoin && state.depth(event.child()) > 0) break;
      dispatch(engine, event, ++n);
      dispatch(literal, event, n);
      ASSERT_EQ(engine.violation().event, literal.violation().event) << seed << to_std(trace);
      if (literal.violation().event != 0) break;
      state.apply(event);
    }
  }
}

TEST(Aerodrome, GoesOnWhenTicksAreUsedUp) {
  Play run({.max_tick = 100});
  for (std::size_t i = 0; i < 1000; ++i) run.block(i % 3, i % 2, i % 2);
  EXPECT_GT(stat(run.engine, "slots numbered anew"), 10U);
  EXPECT_EQ(run.engine.violation().event, 0U);
  run(0, EventKind::kBegin)(0, EventKind::kRead, 0)(1, EventKind::kWrite, 0);
  run(0, EventKind::kRead, 0);
  EXPECT_EQ(run.engine.violation().event, run.number);
}

TEST(Aerodrome, LongTracesStayCleanAndAViolationAtTheirEndIsSeen) {
  for (const bool planted : {false, true}) {
    Play run;
    std::uint64_t random = 12345;
    const auto below = [&](std::size_t n) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      return static_cast<std::size_t>(random >> 33U) % n;
    };
    for (std::size_t i = 0; i < 50'000; ++i) {
      const std::size_t lock = below(5);
      run.block(below(20), lock, lock * 10 + below(10));
      if (below(10) == 0) run(below(20), EventKind::kRead, 1000 + below(3));
    }
    EXPECT_GT(stat(run.engine, "sweeps for rows that nobody refers to"), 10U);
    EXPECT_LT(stat(run.engine, "most rows at once"), 5'000U);
    if (planted) {
      run(3, EventKind::kBegin)(3, EventKind::kRead, 7)(4, EventKind::kWrite, 7);
      run(3, EventKind::kRead, 7);
    }
    EXPECT_EQ(run.engine.violation().event, planted ? run.number : 0);
  }
}

}  // namespace
}  // namespace syndrome::check
