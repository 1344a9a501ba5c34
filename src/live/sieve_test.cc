#include "live/sieve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/samples/random_trace.h"
#include "live/differential.h"

namespace syndrome::live {
namespace {

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
  const auto access = [](std::uint32_t thread, EventKind kind, std::uint32_t variable) {
    return Event{ThreadId(thread), variable, SiteId(), kind, 0, MemoryOrder::kPlain, 0};
  };
  const std::vector<Event> events = {
      access(1, EventKind::kWrite, 1), access(2, EventKind::kBegin, 0),
      access(2, EventKind::kRead, 2),  access(1, EventKind::kWrite, 2),
      access(1, EventKind::kWrite, 1), access(2, EventKind::kRead, 1),
      access(2, EventKind::kEnd, 0)};
  EXPECT_EQ(disagreement(events, {Layout::kGranules, true, true}), "");
  EXPECT_EQ(disagreement(events, {Layout::kGranules, false, true}), "");
}

/// A thread goes on when the deterministic block that forked it is over: that a lock orders the two
/// is chance, whoever follows the accesses.
TEST(Sieve, LocksOrderNothingForADeterministicBlock) {
  const auto event = [](std::uint32_t thread, EventKind kind, std::uint32_t target) {
    return Event{ThreadId(thread), target, SiteId(), kind, 0, MemoryOrder::kPlain, 0};
  };
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
