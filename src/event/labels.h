// Labels by which a recording says more than functions and blocks.

#pragma once

#include <optional>
#include <string_view>

namespace syndrome {

/// A mark (is_mark) around a function that code without probes has called: qsort its comparison,
/// a library of events its handlers.
inline constexpr std::string_view kCalledBackLabel = "unit (called back)";

/// How a label begins that says which atomic set a variable or field is in; the set's name, a space
/// and the variable's name follow. No event has such a label.
inline constexpr std::string_view kSetMemberLabel = "atomic-set ";
struct SetMember {
  std::string_view set;
  std::string_view name;
};
[[nodiscard]] inline std::optional<SetMember> set_member(std::string_view label) {
  if (!label.starts_with(kSetMemberLabel)) return std::nullopt;
  label.remove_prefix(kSetMemberLabel.size());
  const std::size_t space = label.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  return SetMember{label.substr(0, space), label.substr(space + 1)};
}

}  // namespace syndrome
