#include "live/sieve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/samples/random_trace.h"
#include "live/differential.h"

namespace syndrome::live {
namespace {

Event event(std::uint32_t thread, EventKind kind, std::uint32_t target) {
  return {ThreadId(thread), target, SiteId(), kind, 0, MemoryOrder::kPlain, 0};
}

TEST(Sieve, VerdictsStayTheSameOnRandomTraces) {
  DifferentialCounts counts;
  const std::optional<std::string> found = first_disagreement(1, 5000, &counts);
  EXPECT_FALSE(found) << *found;
  EXPECT_GT(counts.violated, 200u);
  EXPECT_LT(counts.told, counts.events);
  EXPECT_GT(counts.left_out, 2000u);
}

/// T1 says nothing new between its two writes of y, but T2's block came in between by x.
TEST(Sieve, WhoFindsAnotherThreadTellsAgainWhatItHadTold) {
  const std::vector<Event> events = {event(1, EventKind::kWrite, 1), event(2, EventKind::kBegin, 0),
                                     event(2, EventKind::kRead, 2),  event(1, EventKind::kWrite, 2),
                                     event(1, EventKind::kWrite, 1), event(2, EventKind::kRead, 1),
                                     event(2, EventKind::kEnd, 0)};
  EXPECT_EQ(disagreement(events, {Layout::kGranules, true, true}), "");
  EXPECT_EQ(disagreement(events, {Layout::kGranules, false, true}), "");
}

/// The child of another thread that had begun before T0 read x must not take T0's slot.
TEST(Sieve, WhatAThreadDidBeforeItStoppedIsNotForgotten) {
  const std::vector<Event> events = {event(0, EventKind::kFork, 1), event(0, EventKind::kRead, 1),
                                     event(0, EventKind::kThreadStop, 0),
                                     event(1, EventKind::kFork, 2), event(2, EventKind::kWrite, 1)};
  for (const bool inside : {false, true}) {
    EXPECT_EQ(disagreement(events, {.determinism = true, .inside = inside}), "") << inside;
  }
}

/// T2's block is past when T0 writes x. T0's write is told late, when T2 reads x again: it must not
/// come to lie before the write of the block, which is in the trace.
TEST(Sieve, WhatIsToldLateKeepsBehindWhatIsPast) {
  const std::vector<Event> events = {
      event(2, EventKind::kBegin, 0), event(1, EventKind::kWrite, 0),
      event(2, EventKind::kRead, 0),  event(0, EventKind::kHappensBefore, 0),
      event(2, EventKind::kWrite, 0), event(1, EventKind::kHappensAfter, 0),
      event(2, EventKind::kEnd, 0),   event(0, EventKind::kWrite, 0),
      event(2, EventKind::kRead, 0)};
  EXPECT_EQ(disagreement(events, {.layout = Layout::kBytes,
                                  .only_atomicity = true,
                                  .determinism = false,
                                  .filter = true,
                                  .inside = true}),
            "");
}

/// T0 has the page of x for itself until T1 comes: then what its log has of it must be where T1
/// looks. And it must not be put there once more when the log is full (after five accesses), behind
/// what T1 did.
TEST(Sieve, WhoComesToAPageFindsWhatItsOwnerDid) {
  for (const std::size_t before : {1u, 5u}) {
    std::vector<Event> events = {event(0, EventKind::kBegin, 0)};
    for (std::size_t i = 0; i < before; ++i) events.push_back(event(0, EventKind::kWrite, 0));
    events.push_back(event(1, EventKind::kRead, 0));
    events.push_back(event(0, EventKind::kWrite, 0));
    events.push_back(event(0, EventKind::kEnd, 0));
    for (const bool filter : {false, true}) {
      const Way way{.only_atomicity = true,
                    .determinism = false,
                    .filter = filter,
                    .inside = true,
                    .page = 4096};
      EXPECT_EQ(disagreement(events, way), "") << before;
    }
  }
}

/// A thread goes on when the deterministic block that forked it is over: that a lock orders the two
/// is chance, whoever follows the accesses.
TEST(Sieve, LocksOrderNothingForADeterministicBlock) {
  const std::vector<Event> events = {
      event(0, EventKind::kBegin, 0),   event(0, EventKind::kAcquire, 0),
      event(0, EventKind::kFork, 1),    event(0, EventKind::kWrite, 2),
      event(0, EventKind::kRelease, 0), event(0, EventKind::kEnd, 0),
      event(1, EventKind::kAcquire, 0), event(1, EventKind::kRead, 2)};
  for (const bool inside : {false, true}) {
    EXPECT_EQ(disagreement(events, {.determinism = true, .inside = inside}), "") << inside;
  }
}

}  // namespace
}  // namespace syndrome::live
