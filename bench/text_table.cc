#include "text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace syndrome::bench {

std::string TextTable::text() const {
  const std::size_t columns = rows_.front().size();
  std::vector<std::size_t> widths(columns, 3);
  for (const auto& row : rows_) {
    assert(row.size() == columns);
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t i = 0; i < columns; ++i) {
      if (i < left_) {
        text += fmt::format("| {:<{}} ", rows_[r][i], widths[i]);
      } else {
        text += fmt::format("| {:>{}} ", rows_[r][i], widths[i]);
      }
    }
    text += "|\n";
    if (r != 0) continue;
    for (std::size_t i = 0; i < columns; ++i) {
      text += i < left_ ? fmt::format("|{:-<{}}", "", widths[i] + 2)
                        : fmt::format("|{:-<{}}:", "", widths[i] + 1);
    }
    text += "|\n";
  }
  return text;
}

std::string short_number(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  if (value >= 9.995) return fmt::format("{:.1f}", value);
  if (value >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string short_count(double value) {
  if (value >= 999.5e6) return short_number(value / 1e9) + "B";
  if (value >= 999.5e3) return short_number(value / 1e6) + "M";
  if (value >= 9.95e3) return short_number(value / 1e3) + "K";
  return fmt::format("{:.0f}", value);
}

}  // namespace syndrome::bench
