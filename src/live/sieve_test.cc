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

}  // namespace
}  // namespace syndrome::live
