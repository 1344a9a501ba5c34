#include "event/clean.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace syndrome {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool within(char32_t code, char32_t first, char32_t last) {
  return code >= first && code <= last;
}

bool is_plain(char c) {
  return c >= 0x20 && c < 0x7F;
}

/// Calls `keep(bytes)` for what may stay and `replace(character)` for what may not.
template <class Keep, class Replace>
void split(std::string_view text, Keep keep, Replace replace) {
  while (!text.empty()) {
    const std::size_t plain =
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
    keep(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    const Utf8 next = decode_utf8(text);
    const std::size_t length = std::max<std::size_t>(next.length, 1);
    if (next.length == 0 || acts_on_display(next.code)) {
      replace(next);
    } else {
      keep(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
}

void append_escape(std::string& text, std::uint32_t unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  text += "\\u";
  for (unsigned shift = 16; shift != 0;) text += kDigits[unit >> (shift -= 4) & 15U];
}

}  // namespace

Utf8 decode_utf8(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || text.size() < length) return {};
  char32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || within(code, 0xD800, 0xDFFF)) return {};
  return {code, length};
}

bool acts_on_display(char32_t code) {
  return code < 0x20 || within(code, 0x7F, 0x9F) || code == 0xAD || code == 0x61C ||
         code == 0x180E || within(code, 0x200B, 0x200F) || within(code, 0x2028, 0x202E) ||
         within(code, 0x2060, 0x206F) || code == 0xFEFF || within(code, 0xFFF9, 0xFFFB) ||
         within(code, 0xE0000, 0xE007F);
}

bool is_clean(std::string_view text) {
  bool result = true;
  split(text, [](std::string_view) {}, [&result](Utf8) { result = false; });
  return result;
}

std::string clean(std::string_view text) {
  std::string result;
  split(
      text, [&result](std::string_view kept) { result += kept; },
      [&result](Utf8) { result += kReplacement; });
  return result;
}

std::string clean_lines(std::string_view text) {
  std::string result;
  split(
      text, [&result](std::string_view kept) { result += kept; },
      [&result](Utf8 bad) {
        const bool stays = bad.length != 0 && (bad.code == '\n' || bad.code == '\t');
        result += stays ? std::string_view(bad.code == '\n' ? "\n" : "\t") : kReplacement;
      });
  return result;
}

std::string clean_json(std::string_view text) {
  std::string result;
  split(
      text, [&result](std::string_view kept) { result += kept; },
      [&result](Utf8 bad) {
        if (bad.length == 0) {
          result += kReplacement;
        } else if (bad.code < 0x20) {
          result += static_cast<char>(bad.code);
        } else if (bad.code < 0x10000) {
          append_escape(result, bad.code);
        } else {
          append_escape(result, 0xD800 + ((bad.code - 0x10000) >> 10U));
          append_escape(result, 0xDC00 + ((bad.code - 0x10000) & 0x3FFU));
        }
      });
  return result;
}

}  // namespace syndrome
