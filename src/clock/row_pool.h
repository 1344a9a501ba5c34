// Vector clocks as rows of one flat array, shared by whoever refers to them.
//
// A row has one entry for each slot; a slot is what a clock calls a thread. All rows have the same
// width, a multiple of kLanes, and widening lays all of them out anew. Row 0 is always zero and is
// nobody's: "no clock".
//
// Rows are given back by marking and sweeping, not by counting: a count would have to be fetched
// from a cold place at every access to a variable. Measured with 1,000,000 variables, AeroDrome ran
// at 0.4 of the speed of reach with counts and runs at 0.6 of it without.

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

  /// A row of zeros. Pointers into the pool are void after this.
  [[nodiscard]] Row allocate();

  /// The next allocate() would take more memory, and so much was allocated since the last sweep
  /// that it is worth looking for rows which nobody refers to. `roots` is how many references there
  /// are to look at.
  [[nodiscard]] bool wants_sweep(std::size_t roots) const;
  /// Frees the rows that are not marked, and sets them to zero. Requires marked.size() == size().
  void sweep(const std::vector<bool>& marked);

  [[nodiscard]] Tick* operator[](Row row) { return &ticks_[row * width_]; }
  [[nodiscard]] const Tick* operator[](Row row) const { return &ticks_[row * width_]; }

  [[nodiscard]] std::size_t width() const { return width_; }
  /// Rows there are, free ones and row 0 included.
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Makes every row at least `width` wide; new entries are 0. Pointers into the pool are void.
  void widen(std::size_t width);

  /// Sets one entry of every row to 0.
  void clear_column(std::size_t slot);

 private:
  std::size_t width_ = kLanes;
  std::vector<Tick> ticks_;
  std::size_t size_ = 1;
  std::size_t allocated_ = 0;  // since the last sweep
  std::vector<Row> free_;
};

// Four entries as one of the compiler's own vectors, so that it needs neither -O3 nor intrinsics.
// Not wider: g++ 12 takes the comparisons of wider ones apart when the machine has no AVX.
// may_alias and the low alignment let them lie over plain arrays.
using Quad = Tick __attribute__((vector_size(16), aligned(4), may_alias));
static_assert(kLanes * sizeof(Tick) == 2 * sizeof(Quad));

[[nodiscard]] inline bool any(Quad quad) {
  std::uint64_t halves[2];
  std::memcpy(halves, &quad, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

/// dst = max(dst, src | low_bit), entry by entry. Calls learned(slot) for each entry that passes
/// its entry in `limits` by that. Returns whether anything changed.
template <class Learned>
inline bool join(Tick* dst, const Tick* src, Tick low_bit, const Tick* limits, std::size_t width,
                 Learned learned) {
  const auto load = [](const Tick* from) { return *reinterpret_cast<const Quad*>(from); };
  const Quad low_bits = Quad{} + low_bit;
  Quad changed{};
  for (std::size_t i = 0; i < width; i += kLanes) {
    const Quad old0 = load(dst + i);
    const Quad old1 = load(dst + i + 4);
    const Quad src0 = load(src + i) | low_bits;
    const Quad src1 = load(src + i + 4) | low_bits;
    const Quad new0 = old0 > src0 ? old0 : src0;
    const Quad new1 = old1 > src1 ? old1 : src1;
    const Quad limit0 = load(limits + i);
    const Quad limit1 = load(limits + i + 4);
    const Quad over0 = (new0 > limit0) & ~(old0 > limit0);
    const Quad over1 = (new1 > limit1) & ~(old1 > limit1);
    *reinterpret_cast<Quad*>(dst + i) = new0;
    *reinterpret_cast<Quad*>(dst + i + 4) = new1;
    changed |= (new0 ^ old0) | (new1 ^ old1);
    if (any(over0 | over1)) [[unlikely]] {
      for (std::size_t lane = 0; lane < 4; ++lane) {
        if (over0[lane] != 0) learned(i + lane);
      }
      for (std::size_t lane = 0; lane < 4; ++lane) {
        if (over1[lane] != 0) learned(i + 4 + lane);
      }
    }
  }
  return any(changed);
}

/// Whether some entry is greater than that of `limits`.
[[nodiscard]] bool passes(const Tick* row, const Tick* limits, std::size_t width);

}  // namespace syndrome::clock
