// How reports speak of the rules of atomic sets: `pattern` (check/patterns.h) and `set-cycle`.

#pragma once

#include <string>

#include "report/report.h"

namespace syndrome::report {

/// Whether the finding is one, complete enough to speak of.
[[nodiscard]] bool is_pattern(const Finding& finding);

/// "stale value of balance", "inconsistent read of Account::checking and Account::savings"
[[nodiscard]] std::string pattern_headline(const Finding& finding);

/// Its events one after the other: "T1 reads x (event 1, a.cc:3) in audit, then T2 writes it
/// (event 4, a.cc:9) in transfer, then …"
[[nodiscard]] std::string pattern_words(const Finding& finding);

/// Why that is wrong: "The value that was read is stale by the time of the update."
[[nodiscard]] std::string pattern_meaning(const Finding& finding);

/// What findings of one cause have in common, more or less: the data, in whichever object, and the
/// function or block that is u.
[[nodiscard]] std::string pattern_group(const Finding& finding);

/// Whether the finding is a cycle of units of work, complete enough to speak of.
[[nodiscard]] bool is_set_cycle(const Finding& finding);

/// "transfer, audit and move did not run one after the other on checking and savings"
[[nodiscard]] std::string set_cycle_headline(const Finding& finding);

/// What a unit of it is called: "transfer", "event 12".
[[nodiscard]] std::string set_cycle_unit(const Finding& finding, std::size_t unit);

}  // namespace syndrome::report
