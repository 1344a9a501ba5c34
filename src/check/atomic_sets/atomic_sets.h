// The check `atomic-sets`: whether units of work are serializable for each atomic set.
//
// Two looks at a trace: the first finds every pattern, as the events go by (units.h, matcher.h); a
// trace without any is done. The second is the verifier's, which accepts or rejects each finding
// that is to be shown.

#pragma once

#include <memory>

#include "check/atomic_sets/units.h"
#include "check/check.h"

namespace syndrome::check {

[[nodiscard]] std::unique_ptr<Check> make_atomic_sets(const Options& options);

namespace atomic_sets {
[[nodiscard]] UnitOptions unit_options(const Options& options);
}

}  // namespace syndrome::check
