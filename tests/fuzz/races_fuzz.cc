// Compares all that speaks of races with the oracle on random traces, for as long as it is told:
// races_fuzz [COUNT [SEED]].

#include "check/races/differential.h"
#include "fuzz/fuzz_main.h"

int main(int argc, char** argv) {
  return syndrome::fuzz::fuzz_main(argc, argv, "races_fuzz", 200'000,
                                   "clocks, detector, racing pairs and verifier", "have races",
                                   syndrome::check::first_race_disagreement);
}
