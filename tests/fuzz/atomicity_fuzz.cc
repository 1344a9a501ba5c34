// Compares every way to decide atomicity with the oracle on random traces, for as long as it is
// told: atomicity_fuzz [COUNT [SEED]].

#include "check/atomicity/differential.h"
#include "fuzz/fuzz_main.h"

int main(int argc, char** argv) {
  std::string engines;
  for (const auto& engine : syndrome::check::differential_engines()) {
    if (!engines.empty()) engines += ", ";
    engines += engine.name;
  }
  return syndrome::fuzz::fuzz_main(argc, argv, "atomicity_fuzz", 500'000, engines, "violate",
                                   syndrome::check::first_disagreement);
}
