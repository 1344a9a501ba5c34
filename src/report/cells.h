// Text as a terminal shows it: how wide, cut to a width, broken into lines. Names in a trace are
// somebody else's bytes: clean() (event/clean.h) first, so that they cannot break a column.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "event/clean.h"

namespace syndrome::report {

using syndrome::clean;

/// The characters of a clean text, each with the columns that it takes.
struct Glyph {
  std::string_view bytes;
  std::size_t columns = 1;
};
[[nodiscard]] std::vector<Glyph> glyphs(std::string_view text);

/// Columns that a clean text takes.
[[nodiscard]] std::size_t width(std::string_view text);

/// At most `columns` wide; what does not fit gives way to "…" at the end.
[[nodiscard]] std::string fit(std::string_view text, std::size_t columns);

/// The same, but "…" stands at the front: names and paths say most at their end.
[[nodiscard]] std::string fit_tail(std::string_view text, std::size_t columns);

/// The same for the name of something: namespaces and classes give way first, "…::balance".
[[nodiscard]] std::string fit_name(std::string_view name, std::size_t columns);

/// fit(), filled up with spaces.
[[nodiscard]] std::string pad(std::string_view text, std::size_t columns);

/// Lines of at most `columns`, broken at spaces, or within a word that is longer than a line.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t columns);

}  // namespace syndrome::report
