#include "check/atomicity/velodrome.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

#include "check/atomicity/oracle.h"
#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

Violation run(Velodrome& engine, std::vector<Event>& events) {
  dispatch(engine, Batch{.events = events, .first = 1},
           [&] { return engine.violation().event != 0; });
  return engine.violation();
}

Violation run(std::string_view text) {
  SmallTrace trace = from_std(text);
  Velodrome engine;
  return run(engine, trace.events);
}

std::uint64_t stat(const Velodrome& engine, std::string_view name) {
  const std::vector<Stat> stats = engine.stats();
  const auto at = std::ranges::find(stats, name, &Stat::name);
  EXPECT_NE(at, stats.end()) << name;
  return at == stats.end() ? 0 : at->value;
}

Event event(std::uint32_t thread, EventKind kind, std::uint32_t target = 0) {
  return {.thread = ThreadId(thread), .target = target, .site = SiteId(), .kind = kind};
}

// The AeroDrome paper's figures 1 to 4.

TEST(Velodrome, PapersRho1IsSerializable) {
  EXPECT_EQ(run("t1|begin()\n t1|w(x)\n t2|begin()\n t2|r(x)\n t2|end()\n"
                "t3|begin()\n t3|w(z)\n t3|end()\n t1|r(z)\n t1|end()")
                .event,
            0u);
}

TEST(Velodrome, PapersRho2) {
  const Violation violation =
      run("t1|begin()\n t2|begin()\n t1|w(x)\n t2|r(x)\n t2|w(y)\n t2|end()\n t1|r(y)\n t1|end()");
  EXPECT_EQ(violation.event, 7u);
  EXPECT_EQ(violation.thread, ThreadId(0u));
}

TEST(Velodrome, PapersRho3HasNoPathOfEventsButACycle) {
  const Violation violation =
      run("t1|begin()\n t2|begin()\n t1|w(x)\n t2|w(y)\n t1|r(y)\n t2|r(x)\n t1|end()\n t2|end()");
  EXPECT_EQ(violation.event, 6u);
  EXPECT_EQ(violation.thread, ThreadId(1u));
}

TEST(Velodrome, PapersRho1PrimeNeedsFinishedBlocksToBeKept) {
  EXPECT_EQ(run("t1|begin()\n t1|w(x)\n t2|begin()\n t2|w(y)\n t2|r(x)\n t2|end()\n"
                "t3|begin()\n t3|r(y)\n t3|w(z)\n t3|end()\n t1|r(z)\n t1|end()")
                .event,
            11u);
}

TEST(Velodrome, LockedBlocksAreClean) {
  EXPECT_EQ(run("t1|begin()\n t1|acq(l)\n t1|r(x)\n t1|w(x)\n t1|rel(l)\n t2|begin()\n t2|acq(l)\n"
                "t2|r(x)\n t2|w(x)\n t2|rel(l)\n t1|end()\n t2|end()")
                .event,
            0u);
}

TEST(Velodrome, AUnaryWriteBetweenTwoReadsOfABlock) {
  EXPECT_EQ(run("t1|begin()\n t1|r(x)\n t2|w(x)\n t1|r(x)\n t1|end()").event, 4u);
}

TEST(Velodrome, ForkAndJoinInOneBlockIsACycleOnceTheChildHasAnEvent) {
  EXPECT_EQ(run("t1|begin()\n t1|fork(t2)\n t2|r(x)\n t1|join(t2)\n t1|end()").event, 4u);
  EXPECT_EQ(run("t1|begin()\n t1|fork(t2)\n t1|join(t2)\n t1|end()").event, 0u);
  EXPECT_EQ(run("t1|fork(t2)\n t1|begin()\n t2|r(x)\n t1|join(t2)\n t1|end()").event, 0u);
}

TEST(Velodrome, AnEventThatConflictsWithNothingStillComesBetweenForkAndJoin) {
  std::vector<Event> events = {event(0, EventKind::kBegin), event(0, EventKind::kFork, 1),
                               event(1, EventKind::kThreadStart), event(0, EventKind::kJoin, 1)};
  Velodrome engine;
  EXPECT_EQ(run(engine, events).event, 4u);
}

TEST(Velodrome, SharedHoldersConflictWithExclusiveOnesOnly) {
  EXPECT_EQ(run("t1|begin()\n t1|acq_shared(l)\n t1|rel_shared(l)\n t2|acq_shared(l)\n"
                "t2|rel_shared(l)\n t1|acq_shared(l)\n t1|rel_shared(l)\n t1|end()")
                .event,
            0u);
  EXPECT_EQ(run("t1|begin()\n t1|acq_shared(l)\n t1|rel_shared(l)\n t2|acq(l)\n"
                "t2|rel(l)\n t1|acq_shared(l)\n t1|rel_shared(l)\n t1|end()")
                .event,
            6u);
}

TEST(Velodrome, ABlockAcrossABarrierRound) {
  EXPECT_EQ(run("t1|begin()\n t1|barrier_arrive(b)\n t2|barrier_arrive(b)\n t2|barrier_leave(b)\n"
                "t1|barrier_leave(b)\n t1|end()")
                .event,
            0u);
  EXPECT_EQ(run("t1|begin()\n t2|begin()\n t1|barrier_arrive(b)\n t2|barrier_arrive(b)\n"
                "t2|barrier_leave(b)\n t1|barrier_leave(b)")
                .event,
            6u);
}

// An acquire outside of blocks names its node nowhere, so that the read may share it, although the
// write to x comes in between; the cycle through both is the block's.
TEST(Velodrome, EventsThatOnlyTakeEdgesShareANode) {
  SmallTrace trace = from_std(
      "t1|begin()\n t1|acq(l)\n t1|rel(l)\n t2|acq(l)\n t1|w(x)\n t2|r(x)\n t2|w(y)\n t1|r(y)");
  Velodrome engine;
  EXPECT_EQ(run(engine, trace.events).event, 8u);
  EXPECT_EQ(stat(engine, "nodes created"), 2u);
}

// An incoming edge that came later must not seem to reach what was read from the node before.
TEST(Velodrome, ANodeThatIsNamedTakesNoMoreEdges) {
  EXPECT_EQ(run("t1|begin()\n t1|w(a)\n t2|r(a)\n t2|w(y)\n t3|begin()\n t3|w(b)\n t2|r(b)\n"
                "t3|r(y)\n t3|end()\n t1|end()")
                .event,
            0u);
}

TEST(Velodrome, ALongLockedTraceNeedsAHandfulOfNodes) {
  std::vector<Event> events;
  for (std::uint32_t i = 0; events.size() < 100'000; ++i) {
    const std::uint32_t t = i % 8;
    const std::uint32_t lock = i % 3;
    // The block before is still open when the next one takes its lock over.
    events.push_back(event(t, EventKind::kBegin));
    events.push_back(event(t, EventKind::kAcquire, lock));
    events.push_back(event(t, EventKind::kRead, lock));
    events.push_back(event(t, EventKind::kWrite, lock));
    events.push_back(event(t, EventKind::kRelease, lock));
    if (i >= 4) events.push_back(event((i - 4) % 8, EventKind::kEnd));
  }
  Velodrome engine;
  EXPECT_EQ(run(engine, events).event, 0u);
  EXPECT_GT(stat(engine, "edges added"), 10'000u);
  EXPECT_LE(stat(engine, "nodes alive at most"), 16u);
  EXPECT_LE(engine.live_nodes(), 16u);
  EXPECT_EQ(stat(engine, "nodes created"), stat(engine, "nodes collected") + engine.live_nodes());
}

TEST(Velodrome, EventsOutsideOfBlocksNeedNoNodes) {
  std::vector<Event> events;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    events.push_back(event(i % 5, i % 2 == 0 ? EventKind::kWrite : EventKind::kRead, i % 7));
  }
  Velodrome engine;
  EXPECT_EQ(run(engine, events).event, 0u);
  EXPECT_EQ(stat(engine, "nodes created"), 0u);
  EXPECT_EQ(stat(engine, "unary events without a node"), 10'000u);
}

// Two open blocks that take turns at what one finished block wrote.
TEST(Velodrome, EdgesDoNotPileUp) {
  std::vector<Event> events = {event(0, EventKind::kBegin), event(0, EventKind::kWrite, 0),
                               event(1, EventKind::kBegin), event(1, EventKind::kRead, 0)};
  for (std::uint32_t x = 1; x <= 1000; ++x) events.push_back(event(1, EventKind::kWrite, x));
  events.push_back(event(1, EventKind::kEnd));
  events.push_back(event(2, EventKind::kBegin));
  events.push_back(event(3, EventKind::kBegin));
  for (std::uint32_t x = 1; x <= 1000; ++x) {
    events.push_back(event(2, EventKind::kRead, x));
    events.push_back(event(3, EventKind::kRead, x));
  }
  Velodrome engine;
  EXPECT_EQ(run(engine, events).event, 0u);
  EXPECT_EQ(stat(engine, "edges added"), 3u);
}

// More predecessors than are scanned; each comes twice, and most are collected meanwhile.
TEST(Velodrome, ABlockWithManyPredecessors) {
  for (const bool cycle : {false, true}) {
    std::vector<Event> events = {event(0, EventKind::kBegin), event(0, EventKind::kWrite, 0),
                                 event(1, EventKind::kBegin), event(1, EventKind::kWrite, 1)};
    for (std::uint32_t i = 0; i < 2000; ++i) {
      const std::uint32_t t = 2 + i;
      const std::uint32_t x = 2 + 2 * i;
      events.push_back(event(t, EventKind::kBegin));
      events.push_back(event(t, EventKind::kRead, 0));
      events.push_back(event(t, EventKind::kWrite, x));
      events.push_back(event(t, EventKind::kWrite, x + 1));
      events.push_back(event(t, EventKind::kEnd));
      events.push_back(event(1, EventKind::kRead, x));
      if (i > 0) events.push_back(event(1, EventKind::kRead, x - 1));
      if (i == 1500) events.push_back(event(0, EventKind::kEnd));
    }
    if (cycle) {
      events.push_back(event(1, EventKind::kWrite, 1'000'00));
      events.push_back(event(5000, EventKind::kBegin));
      events.push_back(event(5000, EventKind::kRead, 1'000'00));
      events.push_back(event(5000, EventKind::kWrite, 1'000'01));
      events.push_back(event(5000, EventKind::kEnd));
      events.push_back(event(1, EventKind::kRead, 1'000'01));
    }
    Velodrome engine;
    EXPECT_EQ(run(engine, events).event, cycle ? events.size() : 0);
    // To and from each block until block 0 ends (later ones are collected at once), and the
    // cycle's.
    EXPECT_EQ(stat(engine, "edges added"), 1501u + 1501u + (cycle ? 1u : 0u));
    EXPECT_LE(engine.live_nodes(), 4u);
  }
}

// Threads that live one after another, all reached by one open block, and read the same variable.
TEST(Velodrome, ManyThreadsOneAfterAnother) {
  std::vector<Event> events = {event(1, EventKind::kBegin), event(1, EventKind::kWrite, 0)};
  for (std::uint32_t t = 2; t < 10'002; ++t) {
    events.push_back(event(0, EventKind::kFork, t));
    for (std::uint32_t x = 0; x < 5; ++x) events.push_back(event(t, EventKind::kRead, x));
    events.push_back(event(0, EventKind::kJoin, t));
  }
  events.push_back(event(1, EventKind::kEnd));
  events.push_back(event(0, EventKind::kWrite, 1));
  Velodrome engine;
  EXPECT_EQ(run(engine, events).event, 0u);
  EXPECT_EQ(engine.live_nodes(), 0u);
}

// Both t1's first block and t2's read go by the name of t1's first block; its second one, which
// read x before, must not be forgotten for it.
TEST(Velodrome, AnOlderNameDoesNotReplaceAYoungerReader) {
  EXPECT_EQ(run("t0|begin()\n t0|w(a)\n t1|begin()\n t1|r(a)\n t1|w(b)\n t1|end()\n t2|r(b)\n"
                "t3|begin()\n t3|w(c)\n t1|begin()\n t1|r(c)\n t1|r(x)\n t1|end()\n t2|r(x)\n"
                "t3|w(x)")
                .event,
            15u);
}

// The way back is the last of many ways out, so that the backward search is the one that finds it.
TEST(Velodrome, TheLastOfManySuccessorsClosesTheCycle) {
  std::vector<Event> events = {event(0, EventKind::kBegin), event(0, EventKind::kWrite, 0)};
  for (std::uint32_t t = 1; t <= 50; ++t) {
    events.push_back(event(t, EventKind::kBegin));
    events.push_back(event(t, EventKind::kRead, 0));
    events.push_back(event(t, EventKind::kWrite, t));
    events.push_back(event(t, EventKind::kEnd));
  }
  events.push_back(event(0, EventKind::kRead, 50));
  Velodrome engine;
  EXPECT_EQ(run(engine, events).event, events.size());
  EXPECT_LE(stat(engine, "nodes visited in searches"), 5u);
}

// t0's block began first and reaches more than reaches t3's: so the search moves what reaches t3's
// block to the front, and the edge back from there must still be seen to go against the order.
TEST(Velodrome, WhatASearchMovedToTheFrontKeepsItsOrder) {
  std::string text = "t0|begin()\n t0|w(q)\n";
  for (int i = 0; i < 20; ++i) {
    const std::string t = "u" + std::to_string(i);
    text += t + "|begin()\n" + t + "|r(q)\n" + t + "|end()\n";
  }
  text +=
      "t1|begin()\n t1|w(a)\n t2|begin()\n t2|r(a)\n t2|w(b)\n t2|end()\n"
      "t3|begin()\n t3|r(b)\n t3|w(s)\n t3|end()\n t0|r(s)\n t1|r(s)";
  EXPECT_EQ(run(text).event, 2u + 60u + 12u);
}

// Of a thread's readers, the one that a sweep keeps is the youngest: here the only one on a cycle.
TEST(Velodrome, ASweepOfReadersKeepsTheYoungest) {
  std::vector<Event> events = {event(0, EventKind::kBegin), event(0, EventKind::kWrite, 0),
                               event(1, EventKind::kBegin), event(1, EventKind::kWrite, 1)};
  constexpr std::uint32_t kShared = 2;
  for (int round = 0; round < 6; ++round) {
    for (std::uint32_t t = 2; t < 10; ++t) {
      events.push_back(event(t, EventKind::kBegin));
      events.push_back(event(t, EventKind::kRead, 0));
      if (round == 1 && t == 2) events.push_back(event(t, EventKind::kRead, 1));
      if (t != 2 || round < 2) events.push_back(event(t, EventKind::kRead, kShared));
      events.push_back(event(t, EventKind::kEnd));
    }
  }
  events.push_back(event(1, EventKind::kWrite, kShared));
  Velodrome engine;
  EXPECT_EQ(run(engine, events).event, events.size());
}

/// A trace in which blocks overlap for long, and conflicts mostly respect a serial order of them
/// that is not the order in which they began: each transaction has a rank, larger than that of the
/// one before in its thread, and an access that conflicts with a larger rank happens only rarely.
/// So many edges go against the engine's order before one closes a cycle.
std::vector<Event> mostly_serial_trace(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  const std::uint32_t thread_count = 2 + below(12);
  const std::uint32_t variable_count = 1 + below(100);
  const std::uint32_t writes = 3 + below(50);      // of 100 accesses
  const std::uint32_t boundaries = 1 + below(15);  // of 100 events in a block
  const std::uint64_t mistakes = 50 + below(1000);
  const std::uint32_t spread = 100 + below(3000);
  struct Thread {
    std::uint64_t rank = 0;
    bool in_block = false;
  };
  struct Variable {
    std::uint64_t read = 0;  // largest rank
    std::uint64_t written = 0;
  };
  std::vector<Thread> threads(thread_count);
  std::vector<Variable> variables(variable_count);
  std::vector<Event> events;
  for (std::uint64_t i = 0; i < 1500 && events.size() < 200; ++i) {
    const std::uint32_t t = below(thread_count);
    Thread& thread = threads[t];
    if (below(100) < (thread.in_block ? boundaries : 70)) {
      events.push_back(event(t, thread.in_block ? EventKind::kEnd : EventKind::kBegin));
      if (!thread.in_block) thread.rank = std::max(thread.rank + 1, 10 * i + below(spread));
      thread.in_block = !thread.in_block;
      continue;
    }
    const std::uint64_t rank =
        thread.in_block ? thread.rank : std::max(thread.rank + 1, 10 * i + below(spread));
    const std::uint32_t x = below(variable_count);
    const bool write = below(100) < writes;
    Variable& variable = variables[x];
    const std::uint64_t needed =
        write ? std::max(variable.read, variable.written) : variable.written;
    if (rank < needed && below(mistakes) != 0) continue;
    thread.rank = rank;
    std::uint64_t& largest = write ? variable.written : variable.read;
    largest = std::max(largest, rank);
    events.push_back(event(t, write ? EventKind::kWrite : EventKind::kRead, x));
  }
  return events;
}

TEST(Velodrome, AgreesWithTheOracleWhereBlocksOverlapForLong) {
  std::uint64_t violations = 0;
  std::uint64_t searches = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    std::vector<Event> events = mostly_serial_trace(seed);
    const OracleResult expected = oracle(events);
    Velodrome engine;
    ASSERT_EQ(run(engine, events).event, expected.first_violation) << "seed " << seed;
    if (!expected.serializable) ++violations;
    searches += stat(engine, "cycle searches");
  }
  EXPECT_GT(violations, 50u);
  EXPECT_LT(violations, 550u);
  EXPECT_GT(searches, 200u);
}

TEST(Velodrome, AgreesWithTheOracleAtTheVeryEvent) {
  std::uint64_t violations = 0;
  std::uint64_t searches = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    SmallTrace trace = random_trace(seed);
    const OracleResult expected = oracle(trace.events);
    Velodrome engine;
    ASSERT_EQ(run(engine, trace.events).event, expected.first_violation) << "seed " << seed << "\n"
                                                                         << to_std(trace);
    if (!expected.serializable) ++violations;
    searches += stat(engine, "cycle searches");
  }
  EXPECT_GT(violations, 500u);
  EXPECT_GT(searches, 500u);
}

}  // namespace
}  // namespace syndrome::check
