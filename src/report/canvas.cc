#include "report/canvas.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "report/cells.h"

namespace syndrome::report {
namespace {

// By the bits of Direction: up 1, down 2, left 4, right 8.
constexpr std::array<std::string_view, 16> kLines = {" ", "╵", "╷", "│", "╴", "┘", "┐", "┤",
                                                     "╶", "└", "┌", "├", "─", "┴", "┬", "┼"};

}  // namespace

Canvas::Cell& Canvas::at(std::size_t row, std::size_t column) {
  assert(column < columns_);
  if (row >= rows_.size()) rows_.resize(row + 1, std::vector<Cell>(columns_));
  return rows_[row][column];
}

void Canvas::text(std::size_t row, std::size_t column, std::string_view text, Style style) {
  for (const Glyph& glyph : glyphs(text)) {
    if (glyph.columns == 0) {
      // A combining mark belongs to the character before it.
      if (column != 0 && column <= columns_) at(row, column - 1).glyph += glyph.bytes;
      continue;
    }
    if (column + glyph.columns > columns_) return;
    Cell& cell = at(row, column);
    cell.glyph = glyph.bytes;
    cell.style = style;
    if (glyph.columns == 2) at(row, column + 1).second = true;
    column += glyph.columns;
  }
}

void Canvas::join(std::size_t row, std::size_t column, unsigned directions, Style style) {
  Cell& cell = at(row, column);
  cell.directions = static_cast<std::uint8_t>(cell.directions | directions);
  if (cell.glyph.empty()) cell.style = style;
}

void Canvas::horizontal(std::size_t row, std::size_t from, std::size_t to, Style style) {
  if (from > to) std::swap(from, to);
  for (std::size_t column = from; column <= to; ++column) {
    const unsigned left = column == from ? 0U : unsigned{kLeft};
    const unsigned right = column == to ? 0U : unsigned{kRight};
    join(row, column, left | right, style);
  }
}

void Canvas::vertical(std::size_t column, std::size_t from, std::size_t to, Style style) {
  if (from > to) std::swap(from, to);
  for (std::size_t row = from; row <= to; ++row) {
    const unsigned up = row == from ? 0U : unsigned{kUp};
    const unsigned down = row == to ? 0U : unsigned{kDown};
    join(row, column, up | down, style);
  }
}

std::vector<std::string> Canvas::render(const Paint& paint) const {
  std::vector<std::string> lines;
  for (const std::vector<Cell>& row : rows_) {
    std::string line;
    std::string run;  // neighbours of one style
    Style style = Style::kPlain;
    std::size_t last = row.size();
    while (last > 0 && row[last - 1].glyph.find_first_not_of(' ') == std::string::npos &&
           row[last - 1].directions == 0 && !row[last - 1].second) {
      --last;
    }
    for (std::size_t column = 0; column < last; ++column) {
      const Cell& cell = row[column];
      if (cell.second) continue;
      const bool blank = cell.glyph.empty() && cell.directions == 0;
      if (!blank && cell.style != style) {
        line += paint(style, run);
        run.clear();
        style = cell.style;
      }
      run += cell.glyph.empty() ? kLines[cell.directions] : std::string_view(cell.glyph);
    }
    lines.push_back(line + paint(style, run));
  }
  return lines;
}

}  // namespace syndrome::report
