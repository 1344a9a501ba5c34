// Clocks, detector, search and verifier against the oracle, over random traces.
//
// A failure prints the shrunk trace; `races_fuzz COUNT SEED` (tests/fuzz) runs more of them.

#include "check/races/differential.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

namespace syndrome::check {
namespace {

// Several tests, so that ctest can run them side by side: 20,000 traces in all.
class RaceDifferential : public testing::TestWithParam<std::uint64_t> {};
constexpr std::uint64_t kTracesEach = 5000;

TEST_P(RaceDifferential, AgreesWithTheOracle) {
  std::uint64_t racy = 0;
  const auto found = first_race_disagreement(GetParam() * kTracesEach, kTracesEach, &racy);
  EXPECT_FALSE(found) << *found;
  EXPECT_GT(racy, kTracesEach / 10);
  EXPECT_LT(racy, kTracesEach - kTracesEach / 10);
}

INSTANTIATE_TEST_SUITE_P(FixedSeeds, RaceDifferential, testing::Range<std::uint64_t>(0, 4));

TEST(RaceDifferentialFresh, AgreesWithTheOracleOnASeedOfToday) {
  const auto seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  std::cout << "seed " << seed << '\n';
  const auto found = first_race_disagreement(seed, 2000);
  EXPECT_FALSE(found) << "seed " << seed << '\n' << *found;
}

}  // namespace
}  // namespace syndrome::check
