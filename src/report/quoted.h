// A string of JSON, for what is written piece by piece.

#pragma once

#include <string>
#include <string_view>

namespace syndrome::report {

/// In quotes. Control characters and bytes that are not UTF-8 are replaced by U+FFFD.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace syndrome::report
