// Compares what is left of random recordings for atomic sets with all of them, for as long as it is
// told: atomic_sets_recording_fuzz [COUNT [SEED]].

#include "check/recording_differential.h"
#include "fuzz/fuzz_main.h"

namespace {

std::optional<std::string> compare(std::uint64_t first, std::uint64_t count, std::uint64_t* found,
                                   const std::function<void(std::uint64_t)>& progress) {
  syndrome::check::atomic_sets::RecordingTally tally;
  auto disagreement = syndrome::check::atomic_sets::first_recording_disagreement(
      first, count, &tally, [&](std::uint64_t done) {
        *found = tally.violated;
        progress(done);
      });
  *found = tally.violated;
  return disagreement;
}

}  // namespace

int main(int argc, char** argv) {
  return syndrome::fuzz::fuzz_main(argc, argv, "atomic_sets_recording_fuzz", 100'000,
                                   "what is left of recordings, and all of them", "violate",
                                   compare);
}
