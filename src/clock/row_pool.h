// Vector clocks as rows of one flat array, shared by reference counts.
//
// A row has one entry for each slot; a slot is what a clock calls a thread. All rows have the same
// width, a multiple of kLanes, and widening lays all of them out anew. Row 0 is always zero, is
// nobody's and is not counted: "no clock".

#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace syndrome::clock {

/// An entry of a clock. Signed, because SSE compares signed integers only.
using Tick = std::int32_t;
inline constexpr Tick kTickMax = INT32_MAX;

/// Rows are worked on in steps of so many entries: two SSE registers.
inline constexpr std::size_t kLanes = 8;

using Row = std::uint32_t;
inline constexpr Row kNoRow = 0;

class RowPool {
 public:
  RowPool();

  /// A row of zeros with one reference. Pointers into the pool are void after this.
  [[nodiscard]] Row allocate();
  void retain(Row row) {
    if (row != kNoRow) ++references_[row];
  }
  void release(Row row) {
    if (row == kNoRow) return;
    assert(references_[row] > 0);
    if (--references_[row] == 0) free_.push_back(row);
  }

  [[nodiscard]] Tick* operator[](Row row) { return &ticks_[row * width_]; }
  [[nodiscard]] const Tick* operator[](Row row) const { return &ticks_[row * width_]; }
  [[nodiscard]] std::uint32_t references(Row row) const { return references_[row]; }

  [[nodiscard]] std::size_t width() const { return width_; }
  /// Rows there have ever been at once, row 0 included.
  [[nodiscard]] std::size_t size() const { return references_.size(); }

  /// Makes every row at least `width` wide; new entries are 0. Pointers into the pool are void.
  void widen(std::size_t width);

  /// Sets one entry of every row to 0.
  void clear_column(std::size_t slot);

 private:
  std::size_t width_ = kLanes;
  std::vector<Tick> ticks_;
  std::vector<std::uint32_t> references_;
  std::vector<Row> free_;
};

// One step of kLanes entries as the compiler's own vectors, so that it needs neither -O3 nor
// intrinsics. may_alias and the low alignment let them lie over plain arrays.
using Lanes = Tick __attribute__((vector_size(kLanes * sizeof(Tick)), aligned(4), may_alias));

/// dst = max(dst, src | low_bit), entry by entry. Calls learned(slot) for each entry that passes
/// its entry in `limits` by that. Returns whether anything changed.
template <class Learned>
inline bool join(Tick* dst, const Tick* src, Tick low_bit, const Tick* limits, std::size_t width,
                 Learned learned) {
  Lanes changed{};
  for (std::size_t i = 0; i < width; i += kLanes) {
    const Lanes d = *reinterpret_cast<const Lanes*>(dst + i);
    const Lanes s = *reinterpret_cast<const Lanes*>(src + i) | low_bit;
    const Lanes limit = *reinterpret_cast<const Lanes*>(limits + i);
    const Lanes joined = d > s ? d : s;
    const Lanes over = (joined > limit) & ~(d > limit);
    *reinterpret_cast<Lanes*>(dst + i) = joined;
    changed |= joined ^ d;
    std::uint64_t words[4];
    std::memcpy(words, &over, sizeof words);
    if ((words[0] | words[1] | words[2] | words[3]) != 0) [[unlikely]] {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if (over[lane] != 0) learned(i + lane);
      }
    }
  }
  std::uint64_t words[4];
  std::memcpy(words, &changed, sizeof words);
  return (words[0] | words[1] | words[2] | words[3]) != 0;
}

/// Whether some entry is greater than that of `limits`.
[[nodiscard]] bool passes(const Tick* row, const Tick* limits, std::size_t width);

}  // namespace syndrome::clock
