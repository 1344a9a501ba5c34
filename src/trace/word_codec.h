// Packs the words of one thread (event/wire.h) without loss and without looking into what they
// mean.
//
// A program repeats itself: the same sites follow one another, and the address at a site moves by
// the same step again and again. So each word is predicted from the words before it, its upper 16
// bits by what followed the last time that the same place was reached, its lower 48 by the last two
// steps at its own place; what came out as predicted is only counted. A *place* is the word's upper
// bits together with the last control word (the function that was entered, or the call that
// returned) and how many operands came after it; the first word of each line, a time, has a place
// of its own, and what follows it is predicted as if it was not there.
//
//   codes  := code*
//   code   := n                   0 <= n < 128: n + 1 words as predicted
//           | 0x80+len            upper bits as predicted, lower bits off by `len` bytes of
//                                 difference, 0, -1, 1, -2, … numbered from 0
//           | 0xc0+len upper:u16  the upper bits are these, then the same
//
// An encoder starts afresh with each chunk, so chunks decode in any order.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "event/wire.h"

namespace syndrome::trace {

/// What encoder and decoder predict from; both keep it alike.
class WordPredictor {
 public:
  void reset();

  /// The upper 16 bits of the next word.
  [[nodiscard]] std::uint64_t upper(std::size_t index) const {
    return upper_[index % wire::kLineWords == 0 ? kTimePlace : last_];
  }
  /// Then, when they are known, its place, and there the lower 48.
  [[nodiscard]] std::size_t place(std::uint64_t upper, std::size_t index) const {
    if (index % wire::kLineWords == 0) return kTimePlace;
    return (((upper ^ context_) * 0x9E3779B1u) & 0xffffffffu) >> (32 - kPlaceBits);
  }
  [[nodiscard]] std::uint64_t lower(std::size_t place) const {
    const Entry& entry = entries_[place];
    return (entry.last + static_cast<std::uint64_t>(std::int64_t{entry.step})) & kLowerMask;
  }
  void learn(std::uint64_t word, std::size_t place);

  static constexpr std::uint64_t kLowerMask = (std::uint64_t{1} << 48) - 1;

 private:
  static constexpr unsigned kPlaceBits = 12;
  static constexpr std::size_t kTimePlace = std::size_t{1} << kPlaceBits;

  struct Entry {
    std::uint64_t last;
    std::int32_t step;  // believed: seen twice in a row
    std::int32_t seen;  // last
  };

  std::array<Entry, kTimePlace + 1> entries_{};
  std::array<std::uint16_t, kTimePlace + 1> upper_{};
  std::size_t last_ = 0;       // place of the last word that is no time
  std::uint32_t context_ = 0;  // from the last control word and its operands
};

class WordEncoder {
 public:
  /// Appends the codes of `words` to `out`.
  void encode(std::span<const std::uint64_t> words, std::vector<std::byte>& out);

 private:
  WordPredictor predictor_;
};

class WordDecoder {
 public:
  /// Fills `words`. What is wrong when the codes are not those of that many words.
  [[nodiscard]] std::optional<std::string> decode(std::span<const std::byte> codes,
                                                  std::span<std::uint64_t> words);

 private:
  WordPredictor predictor_;
};

/// The most that a word can take.
inline constexpr std::size_t kMaxWordCode = 9;

}  // namespace syndrome::trace
