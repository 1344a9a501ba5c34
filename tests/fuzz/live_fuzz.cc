// Compares what the sieve leaves of random traces with the traces, for as long as it is told:
// live_fuzz [COUNT [SEED]].

#include "fuzz/fuzz_main.h"
#include "live/differential.h"

namespace {

std::optional<std::string> compare(std::uint64_t first, std::uint64_t count, std::uint64_t* found,
                                   const std::function<void(std::uint64_t)>& progress) {
  syndrome::live::DifferentialCounts counts;
  std::optional<std::string> disagreement =
      syndrome::live::first_disagreement(first, count, &counts, progress);
  if (found != nullptr) *found = counts.violated;
  return disagreement;
}

}  // namespace

int main(int argc, char** argv) {
  return syndrome::fuzz::fuzz_main(argc, argv, "live_fuzz", 100'000, "the sieve",
                                   "are not serializable", compare);
}
