// The name of a finding that is the same in every run of the same program.

#pragma once

#include <string>

#include "report/report.h"

namespace syndrome::report {

/// 16 hex digits, made of the rule and of the sites (the violating block's begin, then both ends of
/// each edge in the cycle's order, which begins at that block; without a cycle, all sites in
/// order; the two of a race in alphabetical order; of a pattern in a program, the unit and the
/// set instead). An unknown site is stood in for by its function, which is what a run of a program
/// has for code without debug information and for functions that such code calls; in a trace
/// without functions by the event's number.
[[nodiscard]] std::string fingerprint_of(const Finding& finding);

}  // namespace syndrome::report
