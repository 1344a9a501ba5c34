// What all threads see of the thread in a slot. A thread has a slot from its start to its stop; one
// that starts knowing all that the last owner did may take it over, and goes on with its epochs.

#pragma once

#include <atomic>
#include <cstdint>

#include "engine/cell.h"

namespace syndrome::engine {

/// An access to what the open unit of another thread has accessed, noted by who makes it.
struct Note {
  std::atomic<Entry> theirs{0};           // the entry of the open unit
  std::atomic<Entry> mine{0};             // of the access
  std::atomic<std::uint64_t> address{0};  // where they meet
};

struct alignas(64) Slot {
  /// Thread::floor. Read by others when they meet an entry of it; on a line of its own.
  std::atomic<std::uint32_t> open_since{kNever};
  /// The last epoch of an entry that somebody has noted.
  std::atomic<std::uint32_t> noted{0};
  std::atomic<std::uint32_t> noted_by{0};  // the slot of whoever did so last
  std::atomic<std::uint32_t> times{0};     // how often
  // Under the engine's lock.
  alignas(64) std::uint32_t last_epoch;
  bool busy;
};

/// The notes of one slot: about each other slot a few for each part of memory. Written by its
/// thread, read by all.
struct Notes {
  static constexpr std::uint32_t kSets = 16;
  static constexpr std::uint32_t kParts = 4;
  static constexpr std::uint32_t kInPart = 8;
  struct Part {
    Note notes[kInPart];
    std::uint32_t next;
  };
  struct Set {
    Part parts[kParts];
    [[nodiscard]] Part& of(std::uint64_t granule) { return parts[(granule >> 3) % kParts]; }
  };
  Set sets[kSets];

  [[nodiscard]] Set& about(std::uint32_t slot) { return sets[slot % kSets]; }
};

}  // namespace syndrome::engine
