// Names in a trace, and texts in a file, are somebody else's bytes. What we print of them must not
// move the cursor, recolour the terminal or turn the direction of a line.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace syndrome {

struct Utf8 {
  char32_t code = 0;
  std::size_t length = 0;  // 0: not UTF-8
};
/// The first character of a text that is not empty.
[[nodiscard]] Utf8 decode_utf8(std::string_view text);

/// A control character (C0, C1), one that turns the direction of text (U+202E and its like), or one
/// that takes no room and cannot be seen.
[[nodiscard]] bool acts_on_display(char32_t code);

/// Whether every character is UTF-8 and none acts on the display.
[[nodiscard]] bool is_clean(std::string_view text);

/// The text with each of them, and each byte that is not UTF-8, replaced by U+FFFD.
[[nodiscard]] std::string clean(std::string_view text);

/// The same for text of several lines: '\n' and '\t' stay.
[[nodiscard]] std::string clean_lines(std::string_view text);

/// The same for JSON, without any loss: \u202e in place of each. (Below U+0020, JSON has nothing
/// but its own line ends.)
[[nodiscard]] std::string clean_json(std::string_view text);

}  // namespace syndrome
