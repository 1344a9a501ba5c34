// The check `races`: which accesses race, in happens-before order.
//
// Three looks at a trace: the detector finds the variables that have races (most traces have none,
// and are done); the search lists every racing pair on those; the verifier accepts or rejects each
// pair that is to be shown.

#pragma once

#include <memory>

#include "check/check.h"

namespace syndrome::check {

[[nodiscard]] std::unique_ptr<Check> make_races(const Options& options);

}  // namespace syndrome::check
