// A table that reads well on a terminal and is Markdown at the same time.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace syndrome::bench {

class TextTable {
 public:
  /// The first `left` columns are text and stand at the left; the others at the right.
  TextTable(std::vector<std::string> head, std::size_t left)
      : rows_{std::move(head)}, left_(left) {}

  /// As many cells as the head has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the head first
  std::size_t left_;
};

/// "12.3", "0.045": three digits that matter.
[[nodiscard]] std::string short_number(double value);
/// "10M", "280K", "613".
[[nodiscard]] std::string short_count(double value);

}  // namespace syndrome::bench
