// Colour, where the reader wants it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace syndrome::report {

enum class Style : std::uint8_t {
  kPlain,
  kStrong,
  kFaint,
  kBad,    // violated
  kGood,   // clean
  kWarn,   // undecided, warnings
  kArrow,  // the edges of a cycle
  kFirstThread,
  kSecondThread,
  kThirdThread,
};

class Paint {
 public:
  explicit Paint(bool colour) : colour_(colour) {}

  [[nodiscard]] std::string operator()(Style style, std::string_view text) const {
    std::string result;
    if (!colour_ || style == Style::kPlain || text.empty()) return result.append(text);
    return result.append("\x1b[").append(code(style)).append("m").append(text).append("\x1b[0m");
  }

 private:
  // The eight colours that every terminal has, so that the user's own scheme decides how they look.
  [[nodiscard]] static constexpr std::string_view code(Style style) {
    switch (style) {
      case Style::kPlain: return "0";
      case Style::kStrong: return "1";
      case Style::kFaint: return "2";
      case Style::kBad: return "1;31";
      case Style::kGood: return "1;32";
      case Style::kWarn: return "33";
      case Style::kArrow: return "31";
      case Style::kFirstThread: return "1;36";
      case Style::kSecondThread: return "1;35";
      case Style::kThirdThread: return "1;34";
    }
    return "0";
  }

  bool colour_;
};

}  // namespace syndrome::report
