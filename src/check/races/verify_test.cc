// The verifier accepts what is a race and rejects, for each reason, what is none.

#include "check/races/verify.h"

#include <gtest/gtest.h>

#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

std::string verdict(std::string_view text, Race race) {
  SmallTrace trace = from_std(text);
  RaceVerifier verifier({race});
  verifier.take(Batch{trace.events, 1});
  return verifier.reject(race).value_or("accepted");
}

TEST(RaceVerifier, SaysWhyNot) {
  EXPECT_EQ(verdict("A|w(x)\nB|r(x)", {1, 2}), "accepted");
  EXPECT_EQ(verdict("A|r(x)\nB|r(x)", {1, 2}), "neither 1 nor 2 writes");
  EXPECT_EQ(verdict("A|w(x)\nB|w(y)", {1, 2}), "1 and 2 are not accesses to one variable");
  EXPECT_EQ(verdict("A|w(x)\nB|acq(x)", {1, 2}), "1 and 2 are not accesses to one variable");
  EXPECT_EQ(verdict("A|w(x)\nA|w(x)", {1, 2}), "1 and 2 are of one thread");
  EXPECT_EQ(verdict("A|w_relaxed(x)\nB|rmw(x)", {1, 2}), "1 and 2 are both atomic");
  EXPECT_EQ(verdict("A|w(x)\nA|fork(B)\nB|w(x)", {1, 3}), "1 happens before 3");
  EXPECT_EQ(verdict("A|w(x)\nB|free(x)\nB|w(x)", {1, 3}),
            "the variable is another one since event 2");
  EXPECT_EQ(verdict("A|w(x)\nB|w(x)", {1, 7}), "an event is not in the trace");
  EXPECT_EQ(verdict("A|w(x)\nB|w(x)", {2, 1}), "2 does not come before 1");
}

}  // namespace
}  // namespace syndrome::check
