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
}

}  // namespace
}  // namespace syndrome::live
