// Findings that another order of the same events proves: nondeterministic-read and
// unsettled-final-value.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/paint.h"
#include "report/report.h"

namespace syndrome::report {

[[nodiscard]] bool is_reordering(const Finding& finding);

/// "read of balance is nondeterministic"
[[nodiscard]] std::string reordering_headline(const Finding& finding);

/// What was read, and what would be: "In this run T2 reads at event 5 what T1 wrote at event 2; in
/// the order on the right it reads the initial value."
[[nodiscard]] std::string reordering_words(const Finding& finding);

/// The observed order and the predicted one side by side, with the line where they part.
[[nodiscard]] std::vector<std::string> draw_reordering(const Finding& finding, std::size_t columns,
                                                       const Paint& paint);

/// What the fingerprint is made of: read, write, challenger; 0 where there is none.
[[nodiscard]] std::vector<EventNumber> reordering_events(const Finding& finding);

}  // namespace syndrome::report
