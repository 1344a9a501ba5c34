// What a report says of a check as a whole: its verdict, what it is about, and what it does not
// prove. Names from the trace are clean (report/cells.h).

#pragma once

#include <string>
#include <string_view>

#include "report/report.h"

namespace syndrome::report {

[[nodiscard]] std::string capital(std::string_view word);

/// The trace's name, or "standard input".
[[nodiscard]] std::string file_words(const Trace& trace);

/// Whether suppressions or a baseline have kept a finding out of the list.
[[nodiscard]] bool left_out(const CheckReport& entry);

/// "Atomicity violated in t.std: transfer, audit and 3 other blocks did not run as if alone."
[[nodiscard]] std::string verdict_words(const Trace& trace, const CheckReport& entry);

/// "2 findings in 10 events, 2 threads, 1 variable, 0 locks, 3 blocks; engine reach."
[[nodiscard]] std::string size_words(const Trace& trace, const CheckReport& entry);

/// What a reader may take a clean verdict for, and must not; empty where its notes say that.
[[nodiscard]] std::string limits_words(const Trace& trace, const CheckReport& entry);

}  // namespace syndrome::report
