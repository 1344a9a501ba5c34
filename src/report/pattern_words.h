// How reports speak of the rule `pattern` (check/patterns.h).

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

}  // namespace syndrome::report
