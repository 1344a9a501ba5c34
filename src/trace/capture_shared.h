// What of a recording can matter to whoever looks for threads that are in each other's way, such as
// the checks of a trace that nobody keeps (ReadOptions::only_shared).
//
//   CaptureShared    which granules of 8 bytes at least two threads access, one of them to write.
//                    What only one thread accesses in the whole run, or what nobody writes, has no
//                    conflicts: without it, all verdicts are the same.
//   CaptureRepeats   which access is a repetition: its thread has accessed the same bytes in the
//                    same way, at the same site, and since then entered or left no function and
//                    synchronized with nobody, and nobody else came to the granule. Moved to the
//                    first one's place it has the same conflicts in the same order, so two units of
//                    work, blocks or threads that are in each other's way without it are so with
//                    it, and the other way round. Which of the 14 patterns of atomic sets that is
//                    may be another one: where the other thread was meanwhile at another location.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "trace/granule_table.h"

namespace syndrome::trace {

class CaptureShared {
 public:
  /// An access by the thread of this number, in any order; several threads may call it together.
  /// `alone`: no other thread's unit of work can overlap with the one that it is in.
  void touch(std::uint32_t thread, std::uint64_t address, std::uint64_t bytes, bool write,
             bool alone = false) {
    const std::uint64_t last = (address + bytes - 1) >> 3;
    if (bytes > kLong && long_.fetch_add(bytes, std::memory_order_relaxed) + bytes > kMostLong)
        [[unlikely]] {
      full_.store(true, std::memory_order_relaxed);
      return;
    }
    for (std::uint64_t granule = address >> 3; granule <= last; ++granule) {
      std::uint32_t* const state = states_.make(granule);
      if (state == nullptr) {
        full_.store(true, std::memory_order_relaxed);
        return;
      }
      const std::uint32_t owner = std::min(thread + 1, kSeveral);
      const std::atomic_ref shared(*state);
      std::uint32_t before = shared.load(std::memory_order_relaxed);
      for (;;) {
        const std::uint32_t together = before >> kTogether;
        const std::uint32_t after = with(before, owner, write) |
                                    (alone ? together : with(together, owner, write)) << kTogether;
        if (before == after ||
            shared.compare_exchange_weak(before, after, std::memory_order_relaxed)) {
          break;
        }
      }
    }
  }

  /// An atomic access. It is told in any case, so others to the same granule are, too: which
  /// variable it is depends on them.
  void touch_atomic(std::uint64_t address, std::uint64_t bytes) {
    touch(kSeveral - 1, address, bytes, true);
  }

  /// Whether the byte's granule has conflicts.
  [[nodiscard]] bool has_conflicts(std::uint64_t address) const { return has(address, 0); }
  /// The same, without accesses that were alone.
  [[nodiscard]] bool has_conflicts_together(std::uint64_t address) const {
    return has(address, kTogether);
  }
  /// Whether a granule of these bytes has conflicts.
  [[nodiscard]] bool has_conflicts(std::uint64_t address, std::uint64_t bytes) const {
    if (full_.load(std::memory_order_relaxed)) return true;
    return states_.any(address >> 3, (address + bytes - 1) >> 3,
                       [](std::uint32_t state) { return conflicts(state); });
  }

 private:
  // A granule: who accesses it (a thread's number and 1) and whether someone writes, in 16 bits; in
  // the upper half the same of what is not alone. Bits are only added, but for the owner, which
  // becomes kSeveral: all its bits.
  static constexpr std::uint32_t kSeveral = 0x7fff;
  static constexpr std::uint32_t kWritten = 0x8000;
  static constexpr unsigned kTogether = 16;

  [[nodiscard]] static std::uint32_t with(std::uint32_t state, std::uint32_t owner, bool write) {
    const std::uint32_t before = state & kSeveral;
    const bool same = before == 0 || before == owner;
    return (state & 0xffff) | (write ? kWritten : 0) | (same ? owner : kSeveral);
  }
  [[nodiscard]] bool has(std::uint64_t address, unsigned which) const {
    if (full_.load(std::memory_order_relaxed)) return true;
    const std::uint32_t* const state = states_.find(address >> 3);
    return state != nullptr && conflicts(*state >> which);
  }
  [[nodiscard]] static bool conflicts(std::uint32_t state) {
    return (state & 0xffff) == (kSeveral | kWritten);
  }

  GranuleTable<std::uint32_t> states_;
  /// Ranges longer than kLong count; with more of them than kMostLong bytes the table counts as
  /// full, so that a damaged length costs a second and not a day.
  static constexpr std::uint64_t kLong = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kMostLong = std::uint64_t{1} << 32;
  std::atomic<std::uint64_t> long_ = 0;
  std::atomic<bool> full_ = false;
};

class CaptureRepeats {
 public:
  /// Whether an access to bytes of one granule repeats one of the same site: what comes of the
  /// value depends on where it was read. `segment` is one of the thread's, and no other thread's.
  [[nodiscard]] bool knows(std::uint64_t segment, std::uint32_t site, std::uint64_t address,
                           std::uint64_t bytes, bool write) {
    Entry& entry = entries_[slot_of(address >> 3)];
    const auto mask = static_cast<std::uint8_t>(((1u << bytes) - 1) << (address & 7));
    const bool same =
        entry.granule == address >> 3 && entry.segment == segment && entry.epoch == epoch_;
    if (!same) entry = {address >> 3, segment, epoch_};
    // A read does not repeat a write: of two units, a pattern of two reads (11) may be there where
    // one of a write and a read is none.
    std::uint8_t& all = write ? entry.written : entry.read;
    std::uint32_t& from = write ? entry.written_at : entry.read_at;
    if (from == site && (mask & ~all) == 0) return true;
    all = from == site ? static_cast<std::uint8_t>(all | mask) : mask;
    from = site;
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
    std::uint32_t read_at = 0;  // site
    std::uint32_t written_at = 0;
    std::uint8_t read = 0;
    std::uint8_t written = 0;
  };
  static constexpr std::size_t kEntries = std::size_t{1} << 17;  // 4 MB: what caches hold
  /// The heaps of threads begin 64 MiB apart, stacks 8: they are not to lie on each other.
  [[nodiscard]] static std::size_t slot_of(std::uint64_t granule) {
    return static_cast<std::size_t>((granule ^ (granule >> 11)) % kEntries);
  }

  struct Free {
    void operator()(Entry* entries) const { std::free(entries); }
  };
  [[nodiscard]] static Entry* make() {
    void* const memory = std::calloc(kEntries, sizeof(Entry));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<Entry*>(memory);
  }

  /// All 0, and of a short trace most of it is never touched.
  std::unique_ptr<Entry[], Free> entries_{make()};
  std::uint32_t epoch_ = 1;
};

}  // namespace syndrome::trace
