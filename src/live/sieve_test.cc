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
  EXPECT_GT(counts.sieved.left_out, 2000u);
  EXPECT_GT(counts.sieved.joined, 200u);
  EXPECT_GT(counts.sieved.thrown, 2000u);
  EXPECT_GT(counts.sieved.put_off, 2000u);
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

constexpr Way kRaces{.determinism = false, .inside = true};

/// T0 writes bytes 4 and 5 at one site and byte 6 at another: one entry. T1 reads all of them, and
/// then T2: what T0 did is told as two accesses, once, and each read as two of the same bytes.
TEST(Sieve, WhatWasDoneAtTwoSitesIsToldAsTwoAccesses) {
  std::vector<Event> events = {event(0, EventKind::kWrite, 4), event(0, EventKind::kWrite, 3),
                               event(1, EventKind::kRead, 1), event(2, EventKind::kRead, 1)};
  events[0].site = SiteId(1u);
  events[1].site = SiteId(2u);
  Way way = kRaces;
  way.layout = Layout::kMixed;
  EXPECT_EQ(disagreement(events, way), "");
  SievedCounts counts;
  std::vector<std::uint32_t> sites;
  std::vector<std::uint32_t> written, read;
  for (const Event& each : sieved(events, way, &counts)) {
    if (each.kind == EventKind::kRead) read.push_back(each.target);
    if (each.kind != EventKind::kWrite) continue;
    sites.push_back(each.site.value);
    written.push_back(each.target);
  }
  EXPECT_EQ(counts.joined, 1u);
  EXPECT_THAT(sites, testing::ElementsAre(1, 2));
  EXPECT_THAT(read, testing::ElementsAre(written[0], written[1], written[0], written[1]));
}

Event atomic(std::uint32_t thread, EventKind kind, MemoryOrder order) {
  return {ThreadId(thread), 0, SiteId(), kind, 0, order, 0};
}

/// T0 has released the lock last, but T1 has shared it since: T0 comes behind T1.
TEST(Quiet, ALockThatOthersHaveSharedIsTold) {
  const std::vector<Event> events = {
      event(0, EventKind::kAcquire, 0),       event(0, EventKind::kRelease, 0),
      event(1, EventKind::kAcquireShared, 0), event(1, EventKind::kWrite, 1),
      event(1, EventKind::kReleaseShared, 0), event(0, EventKind::kAcquire, 0),
      event(0, EventKind::kWrite, 1),         event(0, EventKind::kRelease, 0)};
  EXPECT_EQ(disagreement(events, kRaces), "");
}

/// T0's second section of the lock is quiet until T1 takes it: then it orders their writes.
TEST(Quiet, TheLastSectionIsToldByWhoTakesTheLockNext) {
  std::vector<Event> events;
  for (int i = 0; i < 10; ++i) {
    events.push_back(event(0, EventKind::kAcquire, 0));
    events.push_back(event(0, EventKind::kWrite, 1));
    events.push_back(event(0, EventKind::kRelease, 0));
  }
  const std::size_t alone = sieved(events, kRaces).size();
  EXPECT_LT(alone, 6u);
  events.push_back(event(1, EventKind::kAcquire, 0));
  events.push_back(event(1, EventKind::kWrite, 1));
  EXPECT_EQ(disagreement(events, kRaces), "");
  // The section, T1's first event, and the taking of the lock.
  EXPECT_EQ(sieved(events, kRaces).size(), alone + 4);
  // Outside of it, T0 races with T1.
  events.insert(events.end() - 2, event(0, EventKind::kWrite, 1));
  EXPECT_EQ(disagreement(events, kRaces), "");
}

/// A relaxed store does not stand for an update that releases, nor an update that was told for a
/// load behind it.
TEST(Quiet, WhatReleasesIsToldAndWhatComesBehindItIsAnother) {
  using enum EventKind;
  EXPECT_EQ(disagreement(std::vector{atomic(0, kWrite, MemoryOrder::kRelaxed),
                                     atomic(0, kRmw, MemoryOrder::kAcqRel),
                                     atomic(1, kRead, MemoryOrder::kSeqCst),
                                     atomic(1, kRead, MemoryOrder::kPlain)},
                         kRaces),
            "");
  EXPECT_EQ(disagreement(std::vector{atomic(0, kRmw, MemoryOrder::kSeqCst),
                                     atomic(0, kRead, MemoryOrder::kSeqCst),
                                     atomic(2, kRead, MemoryOrder::kSeqCst),
                                     atomic(2, kWrite, MemoryOrder::kPlain)},
                         kRaces),
            "");
}

}  // namespace
}  // namespace syndrome::live
