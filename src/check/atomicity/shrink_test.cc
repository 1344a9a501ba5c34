// A failing trace must come out small, well-formed and still failing.

#include "check/samples/shrink.h"

#include <gtest/gtest.h>

#include "check/atomicity/oracle.h"

namespace syndrome::check {
namespace {

bool violates(std::span<const Event> events) {
  return !oracle(events).serializable;
}

TEST(Shrink, LeavesOutWhatDoesNotMatter) {
  const SmallTrace trace = from_std(R"(
    C|begin()
    C|acq(m)
    A|begin()
    A|begin()
    A|r(x)
    C|r(y)
    A|end()
    B|begin()
    B|acq(l)
    B|w(x)
    B|rel(l)
    C|rel(m)
    B|end()
    A|w(x)
    A|end()
    C|end())");
  const SmallTrace small = shrink(trace, violates);
  EXPECT_TRUE(violates(small.events));
  EXPECT_LE(small.events.size(), 4U) << to_std(small);
  SmallTrace again = small;
  EXPECT_TRUE(set_flags(again.events));
  EXPECT_EQ(again.events, small.events);
}

TEST(Shrink, MergesVariables) {
  const SmallTrace small = shrink(from_std("A|begin()\nA|w(x)\nB|w(x)\nB|w(y)\nA|w(y)"), violates);
  EXPECT_EQ(to_std(small), "A|begin()|0\nA|w(x)|0\nB|w(x)|0\nA|w(x)|0\n");
}

TEST(Shrink, RandomViolationsBecomeSmall) {
  std::size_t shrunk = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const SmallTrace trace = random_trace(seed);
    if (!violates(trace.events)) continue;
    const SmallTrace small = shrink(trace, violates);
    EXPECT_TRUE(violates(small.events));
    EXPECT_LE(small.events.size(), 10U) << seed << '\n' << to_std(small);
    ++shrunk;
  }
  EXPECT_GT(shrunk, 10U);
}

}  // namespace
}  // namespace syndrome::check
