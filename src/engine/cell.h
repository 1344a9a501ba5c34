// A cell: what the last accesses to 8 bytes of memory were. Four entries of 64 bits in the order of
// their arrival, the newest first; an entry of 0 is none, and has none behind it.
//
//   entry   way:22 source:1 epoch:23 slot:8 atomic:1 read:1 bytes:8
//
//   bytes   which of the 8 were accessed
//   read    and did not write
//   slot    of the thread (slots.h), from 1 on
//   epoch   the thread's own time: when it released something last, or began something (epoch.h)
//   source  the text of the program connects the access, as the first of two, with another one
//   way     by which calls, and at which site (contexts.h); 0 when the numbers have run out
//
// Nobody locks a cell. Each lane is read and written whole, and whoever decides anything does so on
// one copy of all four. An entry that is overwritten by another thread at the same moment is lost,
// or one comes back: either is a true access of the past, so a finding may be missed and none is
// false. When memory begins a new life, and when epochs begin anew, nobody may be at its cells.

#pragma once

#include <cstdint>

namespace syndrome::engine {

using Entry = std::uint64_t;

inline constexpr unsigned kLanes = 4;
inline constexpr unsigned kCellShift = 5;  // bytes of a cell

inline constexpr Entry kBytes = 0xff;
inline constexpr Entry kReadBit = Entry{1} << 8;
inline constexpr Entry kAtomicBit = Entry{1} << 9;
inline constexpr unsigned kSlotShift = 10;
inline constexpr unsigned kSlotBits = 8;
inline constexpr unsigned kEpochShift = kSlotShift + kSlotBits;
inline constexpr unsigned kEpochBits = 23;
inline constexpr Entry kSourceBit = Entry{1} << (kEpochShift + kEpochBits);
inline constexpr unsigned kWayShift = kEpochShift + kEpochBits + 1;
inline constexpr unsigned kWayBits = 64 - kWayShift;
static_assert(kWayBits == 22);

inline constexpr Entry kSlotMask = ((Entry{1} << kSlotBits) - 1) << kSlotShift;
inline constexpr Entry kEpochMask = ((Entry{1} << kEpochBits) - 1) << kEpochShift;
inline constexpr Entry kKindMask = kReadBit | kAtomicBit;

inline constexpr std::uint32_t kSlots = 1u << kSlotBits;
/// Before nothing: no unit is open, no lock is held.
inline constexpr std::uint32_t kNever = UINT32_MAX;

[[nodiscard]] constexpr std::uint32_t slot_of(Entry entry) {
  return static_cast<std::uint32_t>(entry >> kSlotShift) & (kSlots - 1);
}
[[nodiscard]] constexpr std::uint32_t epoch_of(Entry entry) {
  return static_cast<std::uint32_t>(entry >> kEpochShift) & ((1u << kEpochBits) - 1);
}
[[nodiscard]] constexpr std::uint32_t way_of(Entry entry) {
  return static_cast<std::uint32_t>(entry >> kWayShift);
}
[[nodiscard]] constexpr Entry prefix_of(std::uint32_t slot, std::uint32_t epoch) {
  return (Entry{epoch} << kEpochShift) | (Entry{slot} << kSlotShift);
}
[[nodiscard]] constexpr bool is_own(Entry entry, Entry now) {
  return ((entry ^ now) & kSlotMask) == 0;
}
/// Of two threads: whether the one could have seen what the other wrote.
[[nodiscard]] constexpr bool conflict(Entry one, Entry other) {
  return (one & other & kBytes) != 0 && (one & other & kReadBit) == 0;
}
/// Whether the older entry of the same thread says no more about the bytes that both have.
[[nodiscard]] constexpr bool covers_kind(Entry newer, Entry older) {
  return (newer & ~older & kKindMask) == 0;
}

[[nodiscard]] inline Entry load(const Entry* lane) {
  return __atomic_load_n(lane, __ATOMIC_RELAXED);
}
inline void store(Entry* lane, Entry entry) {
  __atomic_store_n(lane, entry, __ATOMIC_RELAXED);
}

/// Whether the cell says all that this access would add: the same access is there, by the same way
/// and of the same epoch, and nobody whom it conflicts with has come since.
[[nodiscard]] inline bool is_known(const Entry* cell, Entry now) {
  for (unsigned i = 0; i < kLanes; ++i) {
    const Entry entry = load(cell + i);
    const Entry differs = entry ^ now;
    if (((differs & ~kBytes) | (now & ~entry & kBytes)) == 0) return true;
    if ((differs & kSlotMask) != 0 && conflict(entry, now)) return false;
  }
  return false;
}

/// The same for an access that no text connects with another one, while no lock is held: any way
/// and any stronger kind will do, as long as there is no older own access that somebody has
/// interrupted.
[[nodiscard]] inline bool is_known_loosely(const Entry* cell, Entry now) {
  bool found = false;
  bool foreign = false;
  for (unsigned i = 0; i < kLanes; ++i) {
    const Entry entry = load(cell + i);
    if (entry == 0) break;
    if (is_own(entry, now)) {
      if (foreign) return false;
      found |= ((entry ^ now) & kEpochMask) == 0 && (now & ~entry & kBytes) == 0 &&
               (entry & ~now & kKindMask) == 0;
    } else if (conflict(entry, now)) {
      if (!found) return false;
      foreign = true;
    }
  }
  return found;
}

}  // namespace syndrome::engine
