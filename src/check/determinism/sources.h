// Functions whose results differ from run to run, whatever the schedule: time, random numbers,
// what the system says of a process, input. A deterministic block that calls one may give another
// result for a reason that this check does not look at.

#pragma once

#include <string_view>

namespace syndrome::check::determinism {

/// Whether a function of this name, as a trace gives it (with or without parameters, namespaces and
/// template arguments; Java's too), is such a source.
[[nodiscard]] bool is_source_of_nondeterminism(std::string_view function);

}  // namespace syndrome::check::determinism
