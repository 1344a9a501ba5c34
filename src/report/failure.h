// How a program ended, and what could explain that it failed: from ids to words.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "check/pass.h"
#include "event/ended.h"
#include "report/report.h"

namespace syndrome::report {

/// "SIGABRT"; "SIG40" for one without a name.
[[nodiscard]] std::string signal_name(std::uint32_t number);
/// The opposite; none when there is no such signal.
[[nodiscard]] std::optional<std::uint32_t> signal_number(std::string_view name);

[[nodiscard]] Program program_of(const Ended& ended,
                                 const std::optional<check::FailureResult>& failure);
[[nodiscard]] std::vector<Cause> causes_of(const check::FailureResult& failure);

/// "./program was killed by SIGABRT. Thread main was in check, last at a.c:14."
[[nodiscard]] std::string ended_words(const Report& report);
/// "main had read g at a.c:14. T1 wrote it at a.c:7 in inc_dec, which was not finished."
[[nodiscard]] std::string cause_words(const Cause& cause);
/// Why there is no cause to name.
[[nodiscard]] std::string no_cause_words(const Report& report);

}  // namespace syndrome::report
