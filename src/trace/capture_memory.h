// Which variable a byte of the recorded program's memory belongs to.
//
// Definition. The *cuts* are the first address and the first address behind every access of the
// run, scalars and ranges alike. They cut memory into segments, and a segment is a variable: so
// each access covers whole segments, and two accesses have a segment in common if and only if they
// have a byte in common. Neighbouring fields are never one variable, however small. Memory that was
// only ever copied in one piece is one segment, however large.
//
// When memory is allocated or freed, or a local variable begins its life, the segments inside start
// a new generation: what is accessed there from then on is another variable.
//
// Use in two steps: cut() for every access in any order, seal(), then id() and renew() in the order
// of the events. A page holds a bit for each of its bytes and, once sealed, a slot for each cut.

#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "event/mix_hash.h"

namespace syndrome::trace {

class CaptureMemory {
 public:
  CaptureMemory();

  // Step 1.

  /// An access to `bytes` bytes (not 0) at `address`; both below 2^47.
  void cut(std::uint64_t address, std::uint64_t bytes);
  /// Allocated or freed: cuts only pages that some access cuts too.
  void cut_if_used(std::uint64_t address, std::uint64_t bytes);

  /// False when the run touched more pages than kMaxPages: what came later was not cut.
  [[nodiscard]] bool seal();
  /// 16 GiB of touched memory, 6 GB here. A small file can tell of more than any machine has.
  static constexpr std::size_t kMaxPages = std::size_t{1} << 22;

  // Step 2.

  static constexpr std::uint32_t kNew = UINT32_MAX;
  struct Slot {
    std::uint32_t id = kNew;
    std::uint32_t generation = 0;
  };

  /// Calls visit(slot, address) for each segment that the access covers, in ascending order. The
  /// visitor fills in the id of a slot that is kNew, and counts its generation.
  template <class Visit>
  void each(std::uint64_t address, std::uint64_t bytes, const Visit& visit) {
    Page* const page = find(address >> kPageBits);
    if (page == nullptr) return;
    const unsigned granule = (address >> 3) & (kGranules - 1);
    const unsigned at = address & 7;
    if (at + bytes <= 8) {
      const unsigned inside = (page->cuts[granule] >> at) & ((1u << bytes) - 1);
      if (inside == 1) {
        visit(slots_[slot_of(*page, granule, at)], address);
        return;
      }
    }
    each_slow(address, bytes, visit);
  }

  /// The segments that begin in [address, address + bytes) start a new generation.
  void renew(std::uint64_t address, std::uint64_t bytes);

  [[nodiscard]] std::size_t segments() const { return slots_.size(); }

 private:
  static constexpr unsigned kPageBits = 12;
  static constexpr unsigned kGranules = 512;

  struct Page {
    std::uint64_t number = 0;
    std::uint64_t first = 0;                      // its first slot
    std::array<std::uint8_t, kGranules> cuts{};   // a bit for each byte of a granule
    std::array<std::uint16_t, kGranules> rank{};  // cuts of the page before the granule
  };

  [[nodiscard]] static std::size_t slot_of(const Page& page, unsigned granule, unsigned at) {
    const unsigned below = page.cuts[granule] & ((1u << at) - 1);
    return page.first + page.rank[granule] + static_cast<unsigned>(std::popcount(below));
  }

  [[nodiscard]] Page* find(std::uint64_t number) {
    Cached& cached = cache_[number % cache_.size()];
    if (cached.number == number) return &pages_[cached.page];
    const auto at = by_number_.find(number);
    if (at == by_number_.end()) return nullptr;
    cached = {number, at->second};
    return &pages_[at->second];
  }
  [[nodiscard]] Page& make(std::uint64_t number);
  void cut_at(std::uint64_t address);

  /// Calls visit(slot, address) for each cut in [from, to).
  template <class Visit>
  void each_slow(std::uint64_t from, std::uint64_t bytes, const Visit& visit) {
    const std::uint64_t to = from + bytes;
    for (std::size_t p = page_from(from >> kPageBits); p < pages_.size(); ++p) {
      const Page& page = pages_[p];
      const std::uint64_t base = page.number << kPageBits;
      if (base >= to) return;
      const std::uint64_t start = from > base ? from - base : 0;
      const std::uint64_t end = to - base < (1u << kPageBits) ? to - base : (1u << kPageBits);
      for (std::uint64_t g = start >> 3; g < (end + 7) >> 3; ++g) {
        const auto granule = static_cast<unsigned>(g);
        for (unsigned cuts = page.cuts[granule]; cuts != 0; cuts &= cuts - 1) {
          const auto at = static_cast<unsigned>(std::countr_zero(cuts));
          const std::uint64_t byte = g * 8 + at;
          if (byte >= start && byte < end) {
            visit(slots_[slot_of(page, granule, at)], base + byte);
          }
        }
      }
    }
  }
  /// Index of the first page that is not below this number; pages are sorted once sealed.
  [[nodiscard]] std::size_t page_from(std::uint64_t number) const;

  struct Cached {
    std::uint64_t number = UINT64_MAX;
    std::uint32_t page = 0;
  };
  std::array<Cached, 256> cache_;
  tsl::robin_map<std::uint64_t, std::uint32_t, MixHash> by_number_;
  std::vector<Page> pages_;
  std::vector<Slot> slots_;
  bool full_ = false;
  std::vector<std::uint64_t> later_;  // where to cut, if an access comes to that page
  std::size_t later_limit_ = std::size_t{1} << 20;
};

}  // namespace syndrome::trace
