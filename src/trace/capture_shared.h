// What of a recording can matter to whoever looks for threads that are in each other's way, such as
// the checks of a trace that nobody keeps (ReadOptions::only_shared).
//
//   CaptureShared    which granules of 8 bytes at least two threads access, one of them to write.
//                    What only one thread accesses in the whole run, or what nobody writes, has no
//                    conflicts: without it, all verdicts are the same.
//   CaptureRepeats   which access is a repetition: its thread has accessed the same bytes in the
//                    same way, and since then entered or left no function and synchronized with
//                    nobody, and nobody else came to the granule. Moved to the first one's place it
//                    has the same conflicts in the same order, so two units of work, blocks or
//                    threads that are in each other's way without it are so with it, and the
//                    other way round. Which of the 14 patterns of atomic sets that is may be
//                    another one: where the other thread was meanwhile at another location.

#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "event/mix_hash.h"

namespace syndrome::trace {

class CaptureShared {
 public:
  /// An access by the thread of this number, in any order.
  void touch(std::uint32_t thread, std::uint64_t address, std::uint64_t bytes, bool write) {
    const std::uint64_t last = (address + bytes - 1) >> 3;
    for (std::uint64_t granule = address >> 3; granule <= last; ++granule) {
      if (full_) return;
      std::uint16_t& state = at(granule);
      const auto owner = static_cast<std::uint16_t>(std::min(thread + 1, std::uint32_t{kSeveral}));
      const auto before = static_cast<std::uint16_t>(state & kSeveral);
      const bool same = before == 0 || before == owner;
      state = static_cast<std::uint16_t>((state & kWritten) | (write ? kWritten : 0) |
                                         (same ? owner : kSeveral));
    }
  }

  /// Whether the byte's granule has conflicts.
  [[nodiscard]] bool has_conflicts(std::uint64_t address) {
    if (full_) return true;
    const std::uint64_t granule = address >> 3;
    const std::uint32_t page = find(granule / kGranules);
    return page == kNone ||
           (pages_[page][granule % kGranules] & (kSeveral | kWritten)) == (kSeveral | kWritten);
  }

 private:
  static constexpr std::size_t kGranules = 512;
  /// A gigabyte here, for 4 of the program's: with more, everything counts as shared.
  static constexpr std::size_t kMostPages = std::size_t{1} << 20;
  static constexpr std::uint16_t kSeveral = 0x7fff;  // instead of a thread's number and 1
  static constexpr std::uint16_t kWritten = 0x8000;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  using Page = std::array<std::uint16_t, kGranules>;

  [[nodiscard]] std::uint32_t find(std::uint64_t number) {
    Cached& cached = cache_[number % cache_.size()];
    if (cached.number == number) return cached.page;
    const auto at = by_number_.find(number);
    if (at == by_number_.end()) return kNone;
    cached = {number, at->second};
    return at->second;
  }
  [[nodiscard]] std::uint16_t& at(std::uint64_t granule) {
    const std::uint64_t number = granule / kGranules;
    std::uint32_t page = find(number);
    if (page == kNone) {
      page = static_cast<std::uint32_t>(pages_.size());
      full_ = pages_.size() == kMostPages;
      if (full_) return pages_.back()[0];
      by_number_[number] = page;
      pages_.emplace_back();
    }
    return pages_[page][granule % kGranules];
  }

  struct Cached {
    std::uint64_t number = UINT64_MAX;
    std::uint32_t page = 0;
  };
  std::array<Cached, 256> cache_;
  tsl::robin_map<std::uint64_t, std::uint32_t, MixHash> by_number_;
  std::vector<Page> pages_;
  bool full_ = false;
};

class CaptureRepeats {
 public:
  /// Whether an access to bytes of one granule repeats one. `segment` is one of the thread's, and
  /// no other thread's.
  [[nodiscard]] bool knows(std::uint64_t segment, std::uint64_t address, std::uint64_t bytes,
                           bool write) {
    Entry& entry = entries_[slot_of(address >> 3)];
    const auto mask = static_cast<std::uint8_t>(((1u << bytes) - 1) << (address & 7));
    const bool same =
        entry.granule == address >> 3 && entry.segment == segment && entry.epoch == epoch_;
    if (!same) entry = {address >> 3, segment, epoch_, 0, 0};
    // A read does not repeat a write: of two units, a pattern of two reads (11) may be there where
    // one of a write and a read is none.
    std::uint8_t& all = write ? entry.written : entry.read;
    if ((mask & ~all) == 0) return true;
    all = static_cast<std::uint8_t>(all | mask);
    return false;
  }

  /// Some access to these bytes that is not asked about.
  void disturb(std::uint64_t address, std::uint64_t bytes) {
    constexpr std::uint64_t kMost = 64;
    const std::uint64_t first = address >> 3;
    const std::uint64_t last = (address + bytes - 1) >> 3;
    if (last - first >= kMost) {
      ++epoch_;
      return;
    }
    for (std::uint64_t granule = first; granule <= last; ++granule) {
      Entry& entry = entries_[slot_of(granule)];
      if (entry.granule == granule) entry = {};
    }
  }

 private:
  struct Entry {
    std::uint64_t granule = 0;  // nobody accesses the first
    std::uint64_t segment = 0;
    std::uint32_t epoch = 0;
    std::uint8_t read = 0;
    std::uint8_t written = 0;
  };
  static constexpr std::size_t kEntries = std::size_t{1} << 17;  // 3 MB: what caches hold
  /// The heaps of threads begin 64 MiB apart, stacks 8: they are not to lie on each other.
  [[nodiscard]] static std::size_t slot_of(std::uint64_t granule) {
    return static_cast<std::size_t>((granule ^ (granule >> 11)) % kEntries);
  }

  std::vector<Entry> entries_ = std::vector<Entry>(kEntries);
  std::uint32_t epoch_ = 1;
};

}  // namespace syndrome::trace
