// The check against the definition, over random traces.
//
// A failure prints the shrunk trace; `atomic_sets_fuzz COUNT SEED` (tests/fuzz) runs more of them.

#include "check/atomic_sets/differential.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

namespace syndrome::check::atomic_sets {
namespace {

// Several tests, so that ctest can run them side by side: 12,000 traces in all.
class AtomicSetsDifferential : public testing::TestWithParam<std::uint64_t> {};
constexpr std::uint64_t kTracesEach = 3000;

TEST_P(AtomicSetsDifferential, AgreesWithTheOracle) {
  Tally tally;
  const auto found = first_disagreement(GetParam() * kTracesEach, kTracesEach, &tally);
  EXPECT_FALSE(found) << *found;
  // Traces of every sort, or the comparison says little.
  EXPECT_GT(tally.violated, kTracesEach / 5);
  EXPECT_LT(tally.violated, kTracesEach * 9 / 10);
  EXPECT_GT(tally.cycles_only, kTracesEach / 150);
  for (std::size_t i = 0; i < kPatternCount; ++i) {
    EXPECT_GT(tally.traces[i], kTracesEach / 100) << "pattern " << i + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(FixedSeeds, AtomicSetsDifferential, testing::Range<std::uint64_t>(0, 4));

TEST(AtomicSetsDifferentialFresh, AgreesWithTheOracleOnASeedOfToday) {
  const auto seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  std::cout << "seed " << seed << '\n';
  const auto found = first_disagreement(seed, 1000);
  EXPECT_FALSE(found) << "seed " << seed << '\n' << *found;
}

// Of a variable of two sets, behind a wait: the access that both functions go on with begins a unit
// of each, and the inner one is over when its function is.
TEST(AtomicSetsDifferentialFound, TwoUnitsMayBeginWithOneAccess) {
  const Result<spec::Spec> spec =
      spec::parse_spec("[atomic-sets]\nS1 = ['C::a', 'x']\nS2 = ['C::a', 't']\n");
  ASSERT_TRUE(spec);
  const SmallTrace trace = from_std(R"(T0|enter(C::f(int))|a:2
T0|enter(C::g() const)|a:1
T0|r(C::a@10)|a:2
T0|cond_wait(c)|0
T0|r(C::a@10)|a:1
T0|exit()|a:1
T1|w(C::a@10)|a:1
T0|r(C::a@10)|a:1
)");
  EXPECT_EQ(disagreement(trace.events, trace.names, {.sets = {.spec = &*spec}}), "");
}

}  // namespace
}  // namespace syndrome::check::atomic_sets
