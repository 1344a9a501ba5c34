// The patterns of ThreadSanitizer's suppression files: a text that is found somewhere in a name,
// with `*` for whatever may stand in between, `^` in front for "the name begins here" and `$` at
// the end for "and ends here". A `^` or `$` elsewhere stands for itself.
//
// Pattern and name are somebody else's: matching takes time linear in the two lengths together.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace syndrome::spec {

class Wildcard {
 public:
  explicit Wildcard(std::string_view pattern);

  [[nodiscard]] bool matches(std::string_view name) const;

 private:
  /// What stands between two stars. `fallback[i]`: how much of it still matches when all of its
  /// first i + 1 bytes have matched and the next byte does not (Knuth, Morris, Pratt).
  struct Piece {
    std::string text;
    std::vector<std::size_t> fallback;
    explicit Piece(std::string_view piece);
    /// Behind its first place in `name` from `at` on, or npos.
    [[nodiscard]] std::size_t find_end(std::string_view name, std::size_t at) const;
  };

  std::vector<Piece> pieces_;  // none of them empty
  bool from_begin_ = false;    // the first one stands at the beginning
  bool to_end_ = false;        // the last one stands at the end
  bool empty_only_ = false;    // "^$"
};

}  // namespace syndrome::spec
