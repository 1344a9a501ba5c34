// What the engine reports, against the definitions, over random traces and programs.
//
// A failure prints the shrunk trace; `engine_fuzz COUNT SEED` (tests/fuzz) runs more of them.

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

#include "engine/differential/candidates.h"
#include "engine/differential/races.h"

namespace syndrome::engine {
namespace {

constexpr std::uint64_t kTraces = 20'000;

void expect_share(std::uint64_t found, std::uint64_t all, double least) {
  ASSERT_GT(all, 100U);
  EXPECT_GE(static_cast<double>(found), least * static_cast<double>(all)) << found << " of " << all;
  std::cout << found << " of " << all << '\n';
}

TEST(EngineDifferential, races_are_true_and_found) {
  RaceShares shares;
  const auto wrong = first_false_race(1, kTraces, shares);
  ASSERT_FALSE(wrong) << *wrong;
  expect_share(shares.found, shares.racy, 0.995);
  // Four entries are not enough for four variables of which each is accessed by several threads.
  expect_share(shares.found_in_shared, shares.racy_in_shared, 0.94);
  EXPECT_GT(shares.resets, 20U) << "slots and epochs have to run out in some";
  EXPECT_GT(shares.known, 10'000U);
}

TEST(EngineDifferential, races_are_true_with_a_seed_of_today) {
  const auto seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  RaceShares shares;
  const auto wrong = first_false_race(seed, 2000, shares);
  EXPECT_FALSE(wrong) << "seed " << seed << '\n' << *wrong;
}

TEST(EngineDifferential, what_the_rule_finds_was_a_candidate) {
  CandidateShares shares;
  (void)compare_candidates(1, kTraces, false, shares, false);
  expect_share(shares.runs_found, shares.runs, 0.995);
  expect_share(shares.reported, shares.findings, 0.985);
  EXPECT_LT(shares.candidates, 3 * kTraces) << "so many that the rule has to refute";
}

TEST(EngineDifferential, and_mostly_so_where_many_ways_meet_in_one_cell) {
  CandidateShares shares;
  (void)compare_candidates(1, kTraces / 2, true, shares, false);
  expect_share(shares.runs_found, shares.runs, 0.985);
  expect_share(shares.reported, shares.findings, 0.975);
}

}  // namespace
}  // namespace syndrome::engine
