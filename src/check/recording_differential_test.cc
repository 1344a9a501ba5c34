// What is left out of a recording before it is read, against reading all of it, over random
// recordings. `atomic_sets_recording_fuzz COUNT SEED` (tests/fuzz) runs more of them.

#include "check/recording_differential.h"

#include <gtest/gtest.h>

namespace syndrome::check::atomic_sets {
namespace {

TEST(AtomicSetsRecording, WhatIsLeftOutChangesNoFinding) {
  constexpr std::uint64_t kRecordings = 3000;
  RecordingTally tally;
  const auto found = first_recording_disagreement(0, kRecordings, &tally);
  EXPECT_FALSE(found) << *found;
  // Recordings of every sort, or the comparison says little.
  EXPECT_GT(tally.violated, kRecordings / 5);
  EXPECT_LT(tally.violated, kRecordings * 9 / 10);
  EXPECT_EQ(tally.reduced, kRecordings);
  EXPECT_LT(tally.left, tally.events * 8 / 10);
}

// The first accesses that name what a call left out has accessed, on both sides of a wait that was
// left out as well, were in one unit.
TEST(AtomicSetsRecording, NamesAreNotJoinedAcrossAWait) {
  for (const std::uint64_t seed : {11175, 420545}) {
    const auto disagreement = first_recording_disagreement(seed, 1);
    EXPECT_FALSE(disagreement.has_value()) << *disagreement;
  }
}

}  // namespace
}  // namespace syndrome::check::atomic_sets
