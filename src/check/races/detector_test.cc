// What races and what does not, one trace for each reason.

#include "check/races/detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "check/races/differential.h"
#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

/// "2-5 3-7": the first race of each variable, or "none". The oracle must agree with everything.
std::string races(std::string_view text) {
  const SmallTrace trace = from_std(text);
  EXPECT_EQ(race_disagreement(trace.events), "");
  RaceDetector detector;
  EventNumber number = 0;
  for (const Event& event : trace.events) dispatch(detector, event, ++number);
  std::string result;
  for (const Race& race : detector.first_races()) {
    if (!result.empty()) result += ' ';
    result += std::to_string(race.earlier) + "-" + std::to_string(race.later);
  }
  return result.empty() ? "none" : result;
}

TEST(RaceDetector, ConflictsThatNothingOrders) {
  EXPECT_EQ(races("A|w(x)\nB|w(x)"), "1-2");
  EXPECT_EQ(races("A|w(x)\nB|r(x)"), "1-2");
  EXPECT_EQ(races("A|r(x)\nB|w(x)"), "1-2");
  EXPECT_EQ(races("A|r(x)\nB|r(x)"), "none");
  EXPECT_EQ(races("A|w(x)\nB|w(y)"), "none");
  EXPECT_EQ(races("A|r(x)\nB|r(x)\nC|r(x)\nA|acq(m)\nA|rel(m)\nB|acq(m)\nB|w(x)"), "3-7");
}

TEST(RaceDetector, LocksOrder) {
  EXPECT_EQ(races("A|acq(m)\nA|w(x)\nA|rel(m)\nB|acq(m)\nB|w(x)\nB|rel(m)"), "none");
  EXPECT_EQ(races("A|acq(m)\nA|w(x)\nA|rel(m)\nB|acq(n)\nB|w(x)\nB|rel(n)"), "2-5");
  // The inner pair of a lock taken twice lets nobody in.
  EXPECT_EQ(races("A|acq(m)\nA|acq(m)\nA|rel(m)\nA|w(x)\nA|rel(m)\nB|acq(m)\nB|w(x)"), "none");
  EXPECT_EQ(races("A|acq(m)\nA|w(x)\nA|rel(m)\nA|w(x)\nB|acq(m)\nB|w(x)"), "4-6");
}

TEST(RaceDetector, SharedLocksOrderWritersWithReadersOnly) {
  EXPECT_EQ(races("A|acq(m)\nA|w(x)\nA|rel(m)\nB|acq_shared(m)\nB|r(x)\nB|rel_shared(m)\n"
                  "C|acq_shared(m)\nC|r(x)\nC|rel_shared(m)\nA|acq(m)\nA|w(x)"),
            "none");
  EXPECT_EQ(races("A|acq_shared(m)\nA|w(x)\nA|rel_shared(m)\nB|acq_shared(m)\nB|r(x)"), "2-5");
}

TEST(RaceDetector, ForkAndJoinOrder) {
  EXPECT_EQ(races("A|w(x)\nA|fork(B)\nB|w(x)\nA|join(B)\nA|w(x)"), "none");
  EXPECT_EQ(races("A|fork(B)\nA|w(x)\nB|w(x)"), "2-3");
  EXPECT_EQ(races("A|fork(B)\nB|w(x)\nB|thread_stop()\nA|w(x)\nA|join(B)"), "2-4");
}

TEST(RaceDetector, ThreadsThatFollowOneAnotherMayShareASlot) {
  EXPECT_EQ(races("A|fork(B)\nB|w(x)\nA|join(B)\nA|fork(C)\nC|w(x)\nA|w(y)\nC|w(y)"), "6-7");
  // C is forked without knowing of B's end.
  EXPECT_EQ(races("A|fork(B)\nB|w(x)\nB|thread_stop()\nA|fork(C)\nC|w(x)"), "2-5");
  // D took over the slot of A, and did nothing.
  EXPECT_EQ(races("A|w(x)\nB|join(A)\nB|fork(D)\nC|join(D)\nC|w(x)"), "none");
  RaceDetector detector;
  std::string text;
  for (int i = 0; i < 50; ++i) {
    const std::string child = "C" + std::to_string(i);
    text += "A|fork(" + child + ")\n" + child + "|w(x)\nA|join(" + child + ")\n";
  }
  EventNumber number = 0;
  for (const Event& event : from_std(text).events) dispatch(detector, event, ++number);
  EXPECT_EQ(detector.slots(), 2);
  EXPECT_TRUE(detector.first_races().empty());
}

TEST(RaceDetector, BarriersOrderARound) {
  EXPECT_EQ(races("A|w(x)\nA|barrier_arrive(b)\nB|barrier_arrive(b)\nB|barrier_leave(b)\nB|w(x)"),
            "none");
  EXPECT_EQ(races("A|barrier_arrive(b)\nA|w(x)\nB|barrier_arrive(b)\nB|barrier_leave(b)\nB|w(x)"),
            "2-5");
  // The next round says nothing of this one.
  EXPECT_EQ(races("A|barrier_arrive(b)\nB|barrier_arrive(b)\nB|barrier_leave(b)\nB|w(x)\n"
                  "B|barrier_arrive(b)\nA|barrier_leave(b)\nA|w(x)"),
            "4-7");
}

TEST(RaceDetector, SemaphoresAndHomeMadeOrderAreApart) {
  EXPECT_EQ(races("A|w(x)\nA|post(s)\nB|wait(s)\nB|w(x)"), "none");
  EXPECT_EQ(races("A|w(x)\nA|wait(s)\nB|post(s)\nB|w(x)"), "1-4");
  EXPECT_EQ(races("A|w(x)\nA|happens_before(s)\nB|happens_after(s)\nB|w(x)"), "none");
  EXPECT_EQ(races("A|w(x)\nA|post(s)\nB|happens_after(s)\nB|w(x)"), "1-4");
}

TEST(RaceDetector, ConditionsOrderByTheirMutexOnly) {
  EXPECT_EQ(races("A|w(x)\nA|cond_signal(c)\nB|cond_wait(c)\nB|r(x)"), "1-4");
  EXPECT_EQ(races("B|acq(m)\nB|rel(m)\nA|acq(m)\nA|w(x)\nA|cond_signal(c)\nA|rel(m)\n"
                  "B|cond_wait(c)\nB|acq(m)\nB|r(x)\nB|rel(m)"),
            "none");
}

TEST(RaceDetector, AtomicsRaceWithPlainAccessesOnly) {
  EXPECT_EQ(races("A|w_relaxed(x)\nB|w_relaxed(x)\nC|r_relaxed(x)\nD|rmw(x)"), "none");
  EXPECT_EQ(races("A|w_seq_cst(x)\nB|w(x)"), "1-2");
  EXPECT_EQ(races("A|w_seq_cst(x)\nB|r(x)"), "1-2");
  EXPECT_EQ(races("A|r_seq_cst(x)\nB|r(x)"), "none");
  EXPECT_EQ(races("A|r_seq_cst(x)\nB|w(x)"), "1-2");
  EXPECT_EQ(races("A|r(x)\nB|w_seq_cst(x)"), "1-2");
  // An atomic write that is after a plain read does not stand for it: another one races.
  EXPECT_EQ(races("A|r(x)\nA|post(s)\nB|wait(s)\nB|w_relaxed(x)\nC|w_relaxed(x)"), "1-5");
}

constexpr std::string_view kMessage = "A|w(data)\nA|{}(flag)\nB|{}(flag)\nB|r(data)";
std::string message(std::string_view store, std::string_view load) {
  std::string text(kMessage);
  text.replace(text.find("{}"), 2, store);
  text.replace(text.find("{}"), 2, load);
  return races(text);
}

TEST(RaceDetector, OnlyReleaseAndAcquireOrder) {
  for (const char* store : {"w_release", "w_seq_cst", "rmw_release", "rmw_acq_rel", "rmw"}) {
    for (const char* load : {"r_acquire", "r_seq_cst", "rmw_acquire", "rmw_acq_rel", "rmw"}) {
      EXPECT_EQ(message(store, load), "none") << store << ' ' << load;
    }
    for (const char* load : {"r_relaxed", "rmw_relaxed", "rmw_release"}) {
      EXPECT_EQ(message(store, load), "1-4") << store << ' ' << load;
    }
  }
  for (const char* store : {"w_relaxed", "rmw_relaxed", "rmw_acquire"}) {
    EXPECT_EQ(message(store, "r_seq_cst"), "1-4") << store;
  }
}

TEST(RaceDetector, FencesTakeThePlaceOfOrders) {
  // What ThreadSanitizer, which knows no fences, calls a race (g++ -Wtsan).
  EXPECT_EQ(races("A|w(data)\nA|fence_release()\nA|w_relaxed(flag)\n"
                  "B|r_relaxed(flag)\nB|fence_acquire()\nB|r(data)"),
            "none");
  EXPECT_EQ(races("A|w(data)\nA|fence_release()\nA|w_relaxed(flag)\nB|r_acquire(flag)\nB|r(data)"),
            "none");
  EXPECT_EQ(races("A|w(data)\nA|w_release(flag)\nB|r_relaxed(flag)\nB|fence_acquire()\nB|r(data)"),
            "none");
  EXPECT_EQ(races("A|w(data)\nA|fence_seq_cst()\nA|w_relaxed(flag)\n"
                  "B|r_relaxed(flag)\nB|fence_seq_cst()\nB|r(data)"),
            "none");
  // The wrong fence, the wrong side of it, or no atomic between the two.
  EXPECT_EQ(races("A|w(data)\nA|fence_acquire()\nA|w_relaxed(flag)\n"
                  "B|r_relaxed(flag)\nB|fence_acquire()\nB|r(data)"),
            "1-6");
  EXPECT_EQ(races("A|w(data)\nA|w_relaxed(flag)\nA|fence_release()\n"
                  "B|r_relaxed(flag)\nB|fence_acquire()\nB|r(data)"),
            "1-6");
  EXPECT_EQ(races("A|w(data)\nA|fence_release()\nA|w_relaxed(flag)\n"
                  "B|fence_acquire()\nB|r_relaxed(flag)\nB|r(data)"),
            "1-6");
  EXPECT_EQ(races("A|w(data)\nA|fence_seq_cst()\nB|fence_seq_cst()\nB|r(data)"), "1-4");
  EXPECT_EQ(races("A|w(data)\nA|fence()\nA|w_relaxed(flag)\nB|r_acquire(flag)\nB|r(data)"), "1-5");
  // What is written after the fence is not covered by it.
  EXPECT_EQ(races("A|fence_release()\nA|w(data)\nA|w_relaxed(flag)\nB|r_acquire(flag)\nB|r(data)"),
            "2-5");
}

TEST(RaceDetector, AReleaseSequenceGoesOnThroughReadModifyWrites) {
  EXPECT_EQ(races("A|w(data)\nA|w_release(f)\nC|rmw_relaxed(f)\nB|r_acquire(f)\nB|r(data)"),
            "none");
  EXPECT_EQ(races("A|w(data)\nA|w_release(f)\nC|w_relaxed(f)\nB|r_acquire(f)\nB|r(data)"), "1-5");
  EXPECT_EQ(races("A|w(data)\nA|w_release(f)\nA|w_relaxed(f)\nB|r_acquire(f)\nB|r(data)"), "1-5");
  // A release by C orders C's past, not that of A.
  EXPECT_EQ(races("A|w(data)\nA|w_release(f)\nC|w_release(f)\nB|r_acquire(f)\nB|r(data)"), "1-5");
  // A plain write ends it, and memory that is new begins anew.
  EXPECT_EQ(races("A|w(data)\nA|rmw(f)\nA|w(f)\nA|free(f)\nB|r_acquire(f)\nB|r(data)"), "1-6");
}

TEST(RaceDetector, AVariableIsAnotherOneAfterItWasFreed) {
  EXPECT_EQ(races("A|w(x)\nA|free(x)\nB|w(x)"), "none");
  EXPECT_EQ(races("A|w(x)\nB|alloc(x)\nB|w(x)\nA|w(x)"), "3-4");
  EXPECT_EQ(races("A|w(x)\nB|w(x)\nA|free(x)\nA|w(x)\nB|w(x)"), "1-2 4-5");
}

TEST(RaceDetector, OneRaceForEachVariable) {
  EXPECT_EQ(races("A|w(x)\nB|w(x)\nA|w(x)\nA|w(y)\nB|r(y)\nB|r(x)"), "1-2 4-5");
}

TEST(RaceDetector, MoreThreadsThanFit) {
  RaceDetector detector;
  EventNumber number = 0;
  for (std::size_t t = 0; t < HappensBefore::kMaxSlots; ++t) {
    const Event event{.thread = ThreadId(t), .target = 0, .site = {}, .kind = EventKind::kPost};
    dispatch(detector, event, ++number);
  }
  EXPECT_FALSE(detector.too_many_threads());
  const Event event{.thread = ThreadId(HappensBefore::kMaxSlots), .target = 0, .site = {}};
  dispatch(detector, event, ++number);
  EXPECT_TRUE(detector.too_many_threads());
}

}  // namespace
}  // namespace syndrome::check
