// Plans locks for random programs and explores all their interleavings, for as long as it is told:
// enforce_plan_fuzz [COUNT [SEED]].

#include "enforce/plan/explore.h"
#include "fuzz/fuzz_main.h"

namespace {

std::optional<std::string> compare(std::uint64_t first, std::uint64_t count, std::uint64_t* found,
                                   const std::function<void(std::uint64_t)>& progress) {
  syndrome::enforce::PlanTally tally;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string wrong = syndrome::enforce::first_wrong_plan(first + i, 1, tally);
    if (!wrong.empty()) return wrong + "\n";
    *found = tally.broken_before;
    progress(i);
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  return syndrome::fuzz::fuzz_main(argc, argv, "enforce_plan_fuzz", 50'000,
                                   "plans of random programs", "need their plan", compare);
}
