// Compares the races that the engine reports with the oracle, and its candidates with the rule of
// units, for as long as it is told: engine_fuzz [COUNT [SEED]].

#include "engine/differential/candidates.h"
#include "engine/differential/races.h"
#include "fuzz/fuzz_main.h"

namespace {

std::optional<std::string> compare(std::uint64_t first, std::uint64_t count, std::uint64_t* found,
                                   const std::function<void(std::uint64_t)>& progress) {
  using namespace syndrome::engine;
  RaceShares races;
  const auto wrong = first_false_race(first, count, races, progress);
  if (wrong) return wrong;
  CandidateShares crowded;
  CandidateShares roomy;
  (void)compare_candidates(first, count, true, crowded, false, progress);
  (void)compare_candidates(first, count, false, roomy, false, progress);
  using Number = unsigned long long;
  std::printf("races found: %llu of %llu, in shared cells %llu of %llu\n",
              static_cast<Number>(races.found), static_cast<Number>(races.racy),
              static_cast<Number>(races.found_in_shared),
              static_cast<Number>(races.racy_in_shared));
  for (const CandidateShares* shares : {&roomy, &crowded}) {
    std::printf(
        "%s runs with a finding: %llu of %llu found; findings: %llu of %llu; %llu candidates\n",
        shares == &roomy ? "roomy" : "crowded", static_cast<Number>(shares->runs_found),
        static_cast<Number>(shares->runs), static_cast<Number>(shares->reported),
        static_cast<Number>(shares->findings), static_cast<Number>(shares->candidates));
  }
  *found = races.racy + crowded.runs + roomy.runs;
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  return syndrome::fuzz::fuzz_main(argc, argv, "engine_fuzz", 100'000,
                                   "the races and candidates of the engine", "have something",
                                   compare);
}
