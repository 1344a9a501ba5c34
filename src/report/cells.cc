#include "report/cells.h"

#include <array>
#include <cassert>
#include <cstdint>
#include <utility>

namespace syndrome::report {
namespace {

constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

bool within(char32_t code, char32_t first, char32_t last) {
  return code >= first && code <= last;
}

/// The blocks that terminals show over two columns, and combining marks that take none; coarse,
/// but never too narrow for text in East Asian scripts or emoji.
std::size_t columns_of(char32_t code) {
  if (within(code, 0x300, 0x36F) || within(code, 0xFE00, 0xFE0F)) return 0;
  const bool wide = within(code, 0x1100, 0x115F) || within(code, 0x2E80, 0xA4CF) ||
                    within(code, 0xAC00, 0xD7A3) || within(code, 0xF900, 0xFAFF) ||
                    within(code, 0xFE30, 0xFE6F) || within(code, 0xFF00, 0xFF60) ||
                    within(code, 0xFFE0, 0xFFE6) || within(code, 0x1F300, 0x1FAFF) ||
                    within(code, 0x20000, 0x3FFFD);
  return wide ? 2 : 1;
}

}  // namespace

std::vector<Glyph> glyphs(std::string_view text) {
  std::vector<Glyph> result;
  while (!text.empty()) {
    const Utf8 next = decode_utf8(text);
    const std::size_t length = next.length == 0 ? 1 : next.length;
    result.push_back({text.substr(0, length), next.length == 0 ? 1 : columns_of(next.code)});
    text.remove_prefix(length);
  }
  return result;
}

std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  for (const Glyph& glyph : glyphs(text)) columns += glyph.columns;
  return columns;
}

std::string fit(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::string result;
  std::size_t used = 0;
  for (const Glyph& glyph : glyphs(text)) {
    if (used + glyph.columns > columns - 1) break;
    result += glyph.bytes;
    used += glyph.columns;
  }
  return result.append(kEllipsis);
}

std::string fit_tail(std::string_view text, std::size_t columns) {
  std::size_t left = width(text);
  if (left <= columns) return std::string(text);
  if (columns == 0) return {};
  std::string result(kEllipsis);
  for (const Glyph& glyph : glyphs(text)) {
    if (left <= columns - 1) {
      result += glyph.bytes;
    } else {
      left -= glyph.columns;
    }
  }
  return result;
}

std::string fit_name(std::string_view name, std::size_t columns) {
  if (width(name) <= columns) return std::string(name);
  for (std::size_t at = name.find("::"); at != std::string_view::npos;
       at = name.find("::", at + 2)) {
    const std::string_view tail = name.substr(at);
    if (1 + width(tail) <= columns) return std::string(kEllipsis).append(tail);
  }
  return fit_tail(name, columns);
}

std::string pad(std::string_view text, std::size_t columns) {
  std::string result = fit(text, columns);
  result.append(columns - width(result), ' ');
  return result;
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  assert(columns >= 2);
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  const auto new_line = [&] {
    lines.emplace_back();
    used = 0;
  };
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    const std::size_t word_width = width(word);
    if (used != 0 && used + 1 + word_width > columns) new_line();
    if (used != 0) {
      lines.back() += ' ';
      ++used;
    }
    for (const Glyph& glyph : glyphs(word)) {
      if (used + glyph.columns > columns) new_line();
      lines.back() += glyph.bytes;
      used += glyph.columns;
    }
  }
  return lines;
}

}  // namespace syndrome::report
