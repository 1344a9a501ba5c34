// A sheet of character cells on which lines meet properly: each cell knows in which directions
// lines leave it, and shows the box-drawing character for that.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/paint.h"

namespace syndrome::report {

enum Direction : std::uint8_t { kUp = 1, kDown = 2, kLeft = 4, kRight = 8 };

class Canvas {
 public:
  explicit Canvas(std::size_t columns) : columns_(columns) {}

  /// Text over whatever is there; what would pass the right edge is cut off.
  void text(std::size_t row, std::size_t column, std::string_view text, Style style);

  /// Adds line ends to a cell. A text in it stays.
  void join(std::size_t row, std::size_t column, unsigned directions, Style style);

  /// Lines that include both ends.
  void horizontal(std::size_t row, std::size_t from, std::size_t to, Style style);
  void vertical(std::size_t column, std::size_t from, std::size_t to, Style style);

  /// The rows, without spaces at their ends.
  [[nodiscard]] std::vector<std::string> render(const Paint& paint) const;

 private:
  struct Cell {
    std::string glyph;            // empty: the lines show, or a space
    std::uint8_t directions = 0;  // Direction
    Style style = Style::kPlain;  // of the glyph or of the line drawn last
    bool second = false;          // the right half of a wide glyph
  };

  [[nodiscard]] Cell& at(std::size_t row, std::size_t column);

  std::size_t columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace syndrome::report
