// Labels by which a recording says more than functions and blocks.

#pragma once

#include <string_view>

namespace syndrome {

/// A mark (is_mark) around a function that code without probes has called: qsort its comparison,
/// a library of events its handlers.
inline constexpr std::string_view kCalledBackLabel = "unit (called back)";

/// How a label begins that says which atomic set a variable or field is in; the set's name, a space
/// and the variable's name follow. No event has such a label.
inline constexpr std::string_view kSetMemberLabel = "atomic-set ";

}  // namespace syndrome
