// Every way to decide conflict serializability against the oracle, over random traces.
//
// A failure prints the shrunk trace; `atomicity_fuzz COUNT SEED` (tests/fuzz) runs more of them.

#include "check/atomicity/differential.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

namespace syndrome::check {
namespace {

// Several tests, so that ctest can run them side by side: 40,000 traces in all.
class Differential : public testing::TestWithParam<std::uint64_t> {};
constexpr std::uint64_t kTracesEach = 5000;

TEST_P(Differential, EnginesAgreeWithTheOracle) {
  std::uint64_t violated = 0;
  const auto found = first_disagreement(GetParam() * kTracesEach, kTracesEach, &violated);
  EXPECT_FALSE(found) << *found;
  EXPECT_GT(violated, kTracesEach / 10);
}

INSTANTIATE_TEST_SUITE_P(FixedSeeds, Differential, testing::Range<std::uint64_t>(0, 8));

TEST(DifferentialFresh, EnginesAgreeWithTheOracleOnASeedOfToday) {
  const auto seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  std::cout << "seed " << seed << '\n';
  const auto found = first_disagreement(seed, 2000);
  EXPECT_FALSE(found) << "seed " << seed << '\n' << *found;
}

TEST(Differential, ADisagreementIsNoticed) {
  const SmallTrace trace = from_std("A|begin()\nA|r(x)\nB|w(x)\nA|w(x)\nA|end()\nB|r(x)");
  const DifferentialEngine blind{.name = "blind",
                                 .run = [](std::span<const Event>) { return Violation{}; }};
  EXPECT_EQ(disagreement(blind, trace.events), "blind: clean, but the oracle: violated at 4");
  const DifferentialEngine late{
      .name = "late",
      .run = [](std::span<const Event>) { return Violation{.event = 5, .thread = {}}; },
      .earliest = true};
  EXPECT_EQ(disagreement(late, trace.events), "late: violated at 5, but the oracle: at 4");
  const DifferentialEngine early{.name = "early", .run = [](std::span<const Event>) {
                                   return Violation{.event = 3, .thread = {}};
                                 }};
  EXPECT_EQ(disagreement(early, trace.events), "early: violated at 3, but the oracle: at 4");
}

}  // namespace
}  // namespace syndrome::check
