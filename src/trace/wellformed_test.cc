// Every kind of fault, with its message and number, and what the flags say about the rest.

#include "trace/wellformed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace syndrome::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A trace from lines "T1 acq L1": thread, word of the event, target (where the kind has one).
struct Script {
  Names names;
  std::vector<Event> events;

  explicit Script(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string thread;
      std::string word;
      std::string target;
      if (!(words >> thread >> word)) continue;
      words >> target;
      Event event;
      const auto kind = std::find(kEventKindNames.begin(), kEventKindNames.end(), word);
      if (kind == kEventKindNames.end()) throw std::invalid_argument(line);
      event.kind = static_cast<EventKind>(kind - kEventKindNames.begin());
      event.thread = ThreadId(id(Space::kThread, thread));
      if (const auto space = target_space(event.kind)) event.target = id(*space, target);
      events.push_back(event);
    }
  }

  std::uint32_t id(Space space, const std::string& name) {
    StringTable& table = names.table(space);
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (table[i] == name) return static_cast<std::uint32_t>(i);
    }
    return table.append(name);
  }
};

struct Outcome {
  std::vector<std::string> faults;  // "event 3: message"
  std::vector<int> flags;           // of each event that is left
  bool finished = false;
};

/// Runs the stage in batches of `batch_size`; `go_on` is what on_fault answers.
Outcome run(const std::string& text, bool go_on = true, std::size_t batch_size = 1000) {
  Script script(text);
  Outcome outcome;
  WellFormed stage([&](const Fault& fault) {
    outcome.faults.push_back("event " + std::to_string(fault.event) + ": " + fault.message);
    return go_on;
  });
  outcome.finished = true;
  for (std::size_t at = 0; at < script.events.size() && outcome.finished; at += batch_size) {
    const std::size_t size = std::min(batch_size, script.events.size() - at);
    Batch batch{std::span(script.events).subspan(at, size), at + 1};
    outcome.finished = stage.apply(batch, script.names);
    for (const Event& event : batch.events) outcome.flags.push_back(event.flags);
  }
  return outcome;
}

struct Case {
  const char* trace;
  const char* fault;
};

class FaultTable : public ::testing::TestWithParam<Case> {};

TEST_P(FaultTable, IsReportedOnceWithItsNumberAndDroppedAlone) {
  for (const std::size_t batch_size : {1U, 2U, 1000U}) {
    const Outcome outcome = run(GetParam().trace, true, batch_size);
    EXPECT_THAT(outcome.faults, ElementsAre(GetParam().fault));
    EXPECT_TRUE(outcome.finished);
    EXPECT_EQ(std::count(outcome.flags.begin(), outcome.flags.end(), kDropped), 1);
    const std::string number =
        "event " + std::to_string(1 + std::distance(outcome.flags.begin(),
                                                    std::find(outcome.flags.begin(),
                                                              outcome.flags.end(), kDropped)));
    EXPECT_EQ(std::string(GetParam().fault).substr(0, number.size() + 1), number + ":");
  }
}

TEST_P(FaultTable, EndsTheTraceBeforeItWhenAskedTo) {
  const Outcome lenient = run(GetParam().trace);
  const Outcome strict = run(GetParam().trace, false);
  EXPECT_THAT(strict.faults, ElementsAre(GetParam().fault));
  EXPECT_FALSE(strict.finished);
  const auto dropped = std::find(lenient.flags.begin(), lenient.flags.end(), kDropped);
  EXPECT_EQ(strict.flags, std::vector<int>(lenient.flags.begin(), dropped));
}

// The events after each fault show that a dropped event leaves no trace in the state.
INSTANTIATE_TEST_SUITE_P(
    All, FaultTable,
    ::testing::Values(
        // Releases.
        Case{"T1 rel L1", "event 1: thread T1 releases lock L1, which it does not hold"},
        Case{"T1 w x\nT1 acq L5\nT2 rel L5\nT1 rel L5\nT2 acq L5",
             "event 3: thread T2 releases lock L5, which it does not hold (held by T1 since event "
             "2)"},
        Case{"T1 acq L\nT1 acq L\nT1 rel L\nT1 rel L\nT1 rel L\nT2 acq L",
             "event 5: thread T1 releases lock L, which it does not hold"},
        Case{"T1 acq_shared L\nT1 rel L\nT1 rel_shared L",
             "event 2: thread T1 releases lock L, which it holds shared since event 1: expected "
             "rel_shared"},
        Case{"T1 acq_shared L\nT2 rel L\nT1 rel_shared L",
             "event 2: thread T2 releases lock L, which it does not hold (T1 holds shared since "
             "event 1)"},
        Case{"T1 acq L\nT1 rel_shared L\nT1 rel L",
             "event 2: thread T1 releases lock L shared, which it holds exclusively since event 1: "
             "expected rel"},
        Case{"T1 rel_shared L",
             "event 1: thread T1 releases lock L shared, which it does not hold shared"},
        Case{"T1 acq_shared L\nT2 rel_shared L\nT1 rel_shared L",
             "event 2: thread T2 releases lock L shared, which it does not hold shared (T1 holds "
             "shared since event 1)"},
        Case{"T1 acq L\nT2 rel_shared L\nT1 rel L",
             "event 2: thread T2 releases lock L shared, which it does not hold shared (held by T1 "
             "since event 1)"},
        Case{"T1 acq_shared L\nT1 acq_shared L\nT1 rel_shared L\nT1 rel_shared L\nT1 rel_shared L",
             "event 5: thread T1 releases lock L shared, which it does not hold shared"},
        // Acquires.
        Case{"T2 acq L1\nT2 acq L1\nT3 acq L1\nT2 rel L1\nT2 rel L1\nT3 acq L1\nT3 rel L1",
             "event 3: thread T3 acquires lock L1, which T2 holds since event 1"},
        Case{"T2 acq_shared L1\nT3 acq L1\nT2 rel_shared L1\nT3 acq L1",
             "event 2: thread T3 acquires lock L1, which T2 holds shared since event 1"},
        Case{"T1 acq_shared L\nT2 acq_shared L\nT3 acq_shared L\nT1 rel_shared L\nT4 acq L\n"
             "T2 rel_shared L\nT3 rel_shared L\nT4 acq L",
             "event 5: thread T4 acquires lock L, which 2 threads hold shared"},
        Case{"T1 acq_shared L\nT2 acq_shared L\nT1 rel_shared L\nT3 acq_shared L\nT4 acq L",
             "event 5: thread T4 acquires lock L, which T3 holds shared since event 4"},
        Case{"T1 acq L\nT2 acq_shared L\nT1 rel L\nT2 acq_shared L",
             "event 2: thread T2 acquires lock L shared, which T1 holds exclusively since event 1"},
        Case{"T1 acq L\nT1 acq_shared L\nT1 rel L\nT2 acq L",
             "event 2: thread T1 acquires lock L shared, which it holds exclusively since event 1"},
        Case{"T1 acq_shared L\nT1 acq L\nT1 rel_shared L\nT2 acq L",
             "event 2: thread T1 acquires lock L, which it holds shared since event 1"},
        // Threads.
        Case{"T1 fork T4\nT4 w x\nT1 join T4\nT4 r x\nT1 r x",
             "event 4: event of thread T4 after event 3 joined it"},
        Case{"T1 join T2\nT1 w y\nT2 w x", "event 3: event of thread T2 after event 1 joined it"},
        Case{"T1 w x\nT1 thread_stop\nT1 w x",
             "event 3: event of thread T1 after it stopped at event 2"},
        Case{"T1 fork T1\nT1 w x", "event 1: thread T1 forks itself"},
        Case{"T1 fork T2\nT1 fork T2\nT2 w x",
             "event 2: thread T1 forks thread T2, which event 1 forked already"},
        Case{"T1 fork T2\nT2 w x\nT3 fork T2\nT2 w x",
             "event 3: thread T3 forks thread T2, which event 1 forked already"},
        Case{"T1 w x\nT2 w x\nT1 fork T2\nT2 w x",
             "event 3: thread T1 forks thread T2, which has had events since event 2"},
        Case{"T1 join T2\nT1 fork T2",
             "event 2: thread T1 forks thread T2, which event 1 joined already"},
        Case{"T1 join T1\nT1 w x", "event 1: thread T1 joins itself"},
        Case{"T1 w x\nT1 thread_start\nT1 w x",
             "event 2: thread T1 starts, but has had events since event 1"},
        // Blocks, functions, barriers.
        Case{"T1 begin b\nT1 end b\nT1 end b\nT1 begin b",
             "event 3: end of block in thread T1, which is in no block"},
        Case{"T1 begin b\nT2 end b\nT1 end b",
             "event 2: end of block in thread T2, which is in no block"},
        Case{"T1 enter f\nT1 exit f\nT1 exit f\nT1 enter f",
             "event 3: exit of function f in thread T1, which is in no function"},
        Case{"T1 begin b\nT1 exit f",
             "event 2: exit of function f in thread T1, which is in no function"},
        Case{"T1 barrier_arrive b\nT2 barrier_leave b\nT1 barrier_leave b",
             "event 2: thread T2 leaves barrier b, at which it has not arrived"},
        Case{"T1 barrier_arrive b\nT1 barrier_leave b\nT1 barrier_leave b",
             "event 3: thread T1 leaves barrier b, at which it has not arrived"}));

TEST(WellFormed, AcceptsWhatIsPossible) {
  const char* const traces[] = {
      "T1 thread_start\nT1 w x\nT1 thread_stop\nT2 join T1",  // nobody forked T1
      "T1 fork T2\nT2 thread_start\nT2 thread_stop\nT1 join T2",
      "T1 fork T2\nT1 join T2",                                  // no event of its own
      "T1 fork T2\nT2 w x\nT1 join T2\nT3 join T2\nT1 join T2",  // joined again
      "T1 begin b\nT1 acq L\nT1 w x",                            // open at the end
      "T1 acq_shared L\nT2 acq_shared L\nT1 rel_shared L\nT2 rel_shared L\nT3 acq L\nT3 rel L",
      "T1 acq L\nT1 acq M\nT1 rel L\nT1 rel M",  // not last in, first out
      "T1 wait s\nT1 cond_signal c\nT2 cond_wait c\nT2 post s\nT1 alloc x\nT1 free x",
      "T1 barrier_arrive b\nT2 barrier_arrive b\nT1 barrier_leave b\nT2 barrier_leave b",
      "T1 begin b\nT1 enter f\nT1 end b\nT1 exit f",
  };
  for (const char* trace : traces) {
    const Outcome outcome = run(trace);
    EXPECT_THAT(outcome.faults, IsEmpty()) << trace;
    EXPECT_THAT(outcome.flags, ::testing::Each(0)) << trace;
  }
}

TEST(WellFormed, OnlyTheOutermostPairCounts) {
  EXPECT_THAT(run("T1 begin a\nT1 begin b\nT2 begin b\nT1 end b\nT1 end a\nT1 begin a").flags,
              ElementsAre(0, kNested, 0, kNested, 0, 0));
  EXPECT_THAT(run("T1 acq L\nT1 acq L\nT1 acq M\nT1 rel L\nT1 rel L\nT1 acq L").flags,
              ElementsAre(0, kNested, 0, kNested, 0, 0));
  EXPECT_THAT(run("T1 acq_shared L\nT1 acq_shared L\nT2 acq_shared L\nT1 rel_shared L\n"
                  "T1 rel_shared L\nT1 acq_shared L")
                  .flags,
              ElementsAre(0, kNested, 0, kNested, 0, 0));
  EXPECT_THAT(run("T1 enter f\nT1 enter f\nT1 exit f\nT1 exit f").flags, ::testing::Each(0));
}

TEST(WellFormed, ReportsAllFaultsOfATrace) {
  const Outcome outcome =
      run("T1 end b\nT1 rel L\nT2 acq L\nT1 acq L\nT1 join T2\nT2 rel L\nT2 w x\nT1 acq L\nT3 w x");
  EXPECT_THAT(outcome.faults,
              ElementsAre("event 1: end of block in thread T1, which is in no block",
                          "event 2: thread T1 releases lock L, which it does not hold",
                          "event 4: thread T1 acquires lock L, which T2 holds since event 3",
                          "event 6: event of thread T2 after event 5 joined it",
                          "event 7: event of thread T2 after event 5 joined it",
                          "event 8: thread T1 acquires lock L, which T2 holds since event 3"));
  EXPECT_THAT(outcome.flags,
              ElementsAre(kDropped, kDropped, 0, kDropped, 0, kDropped, kDropped, kDropped, 0));
}

TEST(WellFormed, NumbersAreRightInLongBatches) {
  std::string text = "T1 w x\nT2 w x\n";
  for (int i = 2; i < 200; ++i)
    text += i == 100 ? "T1 end b\n" : i == 150 ? "T1 join T2\n" : "T1 r x\n";
  text += "T2 r x\nT1 r x\nT2 r x\n";
  const Outcome outcome = run(text);
  EXPECT_THAT(outcome.faults,
              ElementsAre("event 101: end of block in thread T1, which is in no block",
                          "event 201: event of thread T2 after event 151 joined it",
                          "event 203: event of thread T2 after event 151 joined it"));
  EXPECT_EQ(run(text, false).flags.size(), 100U);
}

TEST(WellFormed, SeesAJoinInTheMiddleOfAWindow) {
  // Where the join stands among 64 events must not matter.
  for (int before = 0; before < 70; ++before) {
    std::string text = "T2 w x\nT1 w x\n";
    for (int i = 0; i < before; ++i) text += "T1 r x\n";
    text += "T1 join T2\nT1 r x\nT2 r x\nT1 r x\n";
    const std::string join = std::to_string(before + 3);
    EXPECT_THAT(run(text).faults,
                ElementsAre("event " + std::to_string(before + 5) +
                            ": event of thread T2 after event " + join + " joined it"));
  }
}

TEST(WellFormed, ADroppedEventDoesNotMakeItsThreadSeen) {
  // T2's only event before the fork is ill-formed: with it gone, the fork is in order.
  EXPECT_THAT(run("T1 w x\nT2 rel L\nT1 fork T2\nT2 w x").faults,
              ElementsAre("event 2: thread T2 releases lock L, which it does not hold"));
}

TEST(WellFormed, PassesOverEventsThatAreDroppedAlready) {
  Script script("T1 acq L\nT1 rel L\nT2 acq L");
  script.events[0].flags = kDropped;
  script.events[1].flags = kDropped;
  WellFormed stage([](const Fault& fault) {
    ADD_FAILURE() << fault.message;
    return true;
  });
  Batch batch{script.events, 1};
  EXPECT_TRUE(stage.apply(batch, script.names));
  EXPECT_EQ(script.events[0].flags, kDropped);
  EXPECT_EQ(script.events[2].flags, 0);
}

// A thread's holds, counted in the simplest way: the stage must agree event by event.
TEST(WellFormed, AgreesWithASimpleModelOfLocksAndBlocks) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Script script("");
    for (const char* thread : {"A", "B", "C"}) script.id(Space::kThread, thread);
    for (const char* lock : {"L", "M"}) script.id(Space::kLock, lock);
    for (int i = 0; i < 60; ++i) {
      constexpr EventKind kKinds[] = {EventKind::kAcquire,       EventKind::kRelease,
                                      EventKind::kAcquireShared, EventKind::kReleaseShared,
                                      EventKind::kBegin,         EventKind::kEnd};
      Event event;
      event.kind = kKinds[random() % 6];
      event.thread = ThreadId(static_cast<std::uint32_t>(random() % 3));
      event.target = target_space(event.kind) == Space::kLock ? random() % 2 : 0;
      script.events.push_back(event);
    }
    int exclusive[2][3] = {};
    int shared[2][3] = {};
    int blocks[3] = {};
    std::vector<int> expected;
    for (const Event& event : script.events) {
      const std::size_t t = event.thread.index();
      int(&x)[3] = exclusive[event.target];
      int(&s)[3] = shared[event.target];
      const auto others = [t](const int(&holds)[3]) {
        return holds[0] + holds[1] + holds[2] - holds[t] > 0;
      };
      const auto take = [&](bool possible, int& depth) {
        expected.push_back(!possible ? kDropped : depth > 0 ? kNested : 0);
        if (possible) ++depth;
      };
      const auto let_go = [&](int& depth) {
        expected.push_back(depth == 0 ? kDropped : depth > 1 ? kNested : 0);
        if (depth > 0) --depth;
      };
      switch (event.kind) {
        case EventKind::kAcquire: take(!others(x) && !others(s) && s[t] == 0, x[t]); break;
        case EventKind::kRelease: let_go(x[t]); break;
        case EventKind::kAcquireShared: take(!others(x) && x[t] == 0, s[t]); break;
        case EventKind::kReleaseShared: let_go(s[t]); break;
        case EventKind::kBegin: take(true, blocks[t]); break;
        default: let_go(blocks[t]); break;
      }
    }
    WellFormed stage([](const Fault&) { return true; });
    Batch batch{script.events, 1};
    ASSERT_TRUE(stage.apply(batch, script.names));
    std::vector<int> found;
    for (const Event& event : script.events) found.push_back(event.flags);
    ASSERT_EQ(found, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace syndrome::trace
