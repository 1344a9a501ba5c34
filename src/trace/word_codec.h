// Packs the words of one thread (event/wire.h) without loss and fast rather than small: it runs
// beside the program that is recorded.
//
// A program repeats itself: what came after the last few words came after them before, and the
// address in it moves by the same step again. So each word is predicted from the words before it. A
// *place* is a small hash of the five words before (of accesses and operands the upper 16 bits
// only, where the site is; of control words everything). At its place stand the last word that was
// there and the step to it from the one before; the next is expected to be a step further, or else
// to be near the last one. The first word of each line, a time, has a place of its own and is no
// part of what comes before the others.
//
// The encoder works on a line of 32 words, four at a time where the processor can. Its only branch
// on what they are is for eight that came as predicted, which have no codes. A line of such words
// takes one byte, and what its time takes.
//
//   codes   := size:u32 offs(size) line*
//   line    := head:u8 group:u32*        one group for each of the upper four bits of `head`
//
// Low four bits of `head`: the code of the first word. Group g, when its bit 4+g is set: the codes
// of words g, g+4, …, g+28 of the line, four bits each, the first one lowest; without it they are
// 0. Code: bits 0 to 2 tell how many bytes `offs` has for the word, 0, 1, 2, 3, 4, 6 or 8; bit 3,
// that they are the distance from the last word at the place, otherwise from a step further. A
// distance is little-endian and counts 0, -1, 1, -2, … from 0.
//
// An encoder starts afresh with each chunk, so chunks decode in any order.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "event/wire.h"

namespace syndrome::trace {

/// What encoder and decoder predict from; both keep it alike.
struct WordPlaces {
  static constexpr unsigned kBits = 11;  // 32 KiB: what a first-level cache holds
  static constexpr std::uint64_t kTime = std::uint64_t{1} << kBits;
  /// How many words before make a place, and by how much each counts more than the one before it.
  static constexpr std::size_t kBefore = 5;
  static constexpr unsigned kShift = 1;

  // {step, last} of place p at 2 * p.
  alignas(32) std::array<std::uint64_t, 2 * (kTime + 1)> table;
};

class WordEncoder {
 public:
  /// The codes of `words` behind `front` bytes that the caller may fill, good until the next call.
  [[nodiscard]] std::span<std::byte> encode(std::span<const std::uint64_t> words,
                                            std::size_t front = 0);

 private:
  WordPlaces places_;
  // Not vectors: they would fill with 0 what is written anyway.
  std::size_t room_ = 0;
  std::unique_ptr<std::byte[]> out_;
  std::unique_ptr<std::byte[]> codes_;
};

class WordDecoder {
 public:
  /// Fills `words`. What is wrong when the codes are not those of that many words.
  [[nodiscard]] std::optional<std::string> decode(std::span<const std::byte> codes,
                                                  std::span<std::uint64_t> words);

 private:
  WordPlaces places_;
};

/// The most that a word can take: eight bytes, and the codes of a line with nothing else in it.
inline constexpr std::size_t kMaxWordCode = 16;

}  // namespace syndrome::trace
