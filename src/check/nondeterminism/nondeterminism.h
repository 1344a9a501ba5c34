// The check `nondeterminism`: from one run, which reads could read another write, and which
// variables could end with another value, in another order of the same events.
// docs/nondeterminism.md has the definition; every finding carries a schedule that the verifier
// (definition.h) has accepted.
//
// It keeps the trace in memory: about 200 bytes for each event, and clocks.

#pragma once

#include <memory>

#include "check/check.h"

namespace syndrome::check {

[[nodiscard]] std::unique_ptr<Check> make_nondeterminism(const Options& options);

}  // namespace syndrome::check
