// What to do about a finding: what its locks say, and the usual fixes.

#pragma once

#include <string>

#include "report/report.h"

namespace syndrome::report {

/// Which locks the events of the cycle hold: "m at events 4, 9 and 12; none at event 13".
[[nodiscard]] std::string locks_held(const Finding& finding);

/// The usual fix, in one or two sentences; empty when nothing fits.
[[nodiscard]] std::string usual_fix(const Finding& finding);

}  // namespace syndrome::report
