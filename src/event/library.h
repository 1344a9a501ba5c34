// What names of the standard library's fields say. Depends on nothing.

#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace syndrome {

/// Whether a field of this name is of an object of the library that many threads may use at once,
/// and that keeps itself consistent: with atomics, or with a lock that it makes of some.
[[nodiscard]] constexpr bool keeps_itself(std::string_view name) {
  if (!name.starts_with("std::")) return false;
  // What its parts are made of, too: std::unique_ptr<std::__future_base::_Result_base>.
  if (name.find("std::__future_base::") != std::string_view::npos) return true;
  constexpr auto kTypes = std::to_array<std::string_view>(
      {"stop_token::", "stop_source::", "_Stop_", "thread::", "jthread::", "once_flag::",
       "_Sp_counted", "__tree_barrier", "latch::", "__atomic_", "condition_variable"});
  name.remove_prefix(5);
  if (name.starts_with("_V2::")) name.remove_prefix(5);
  return std::ranges::any_of(kTypes, [&](std::string_view type) { return name.starts_with(type); });
}

}  // namespace syndrome
