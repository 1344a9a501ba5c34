// "Did you mean …?": the names nearest to one that is not there.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace syndrome::spec {

/// How many insertions, deletions and replacements of a byte make `b` out of `a`, or `limit` + 1
/// when it takes more than `limit`. Costs at most min(|a|, |b|) * (2 * limit + 1) steps.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

/// How far off a name may be and still look like a slip: a third of its length, but at least 2.
[[nodiscard]] std::size_t slip_of(std::string_view name);

/// The candidate nearest to `name`, the first of equals, or "" when none is within slip_of(name).
[[nodiscard]] std::string_view nearest(std::string_view name,
                                       const std::vector<std::string_view>& candidates);

}  // namespace syndrome::spec
