// Compares predictive nondeterminism with brute force on random traces, for as long as it is told:
// nondeterminism_fuzz [COUNT [SEED]].

#include "check/nondeterminism/differential.h"
#include "fuzz/fuzz_main.h"

int main(int argc, char** argv) {
  return syndrome::fuzz::fuzz_main(argc, argv, "nondeterminism_fuzz", 100'000,
                                   "feasible triples, what reads see, final values and schedules",
                                   "have a nondeterministic read",
                                   syndrome::check::first_nondeterminism_disagreement);
}
