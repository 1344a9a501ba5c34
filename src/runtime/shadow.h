// The memory behind event/sieve.h: a cell for each granule of the program's memory, what entries
// have no room in a cell, and what threads left at locks for those who come behind them.
//
// State, and who may touch it:
//   a Cell       who holds its lock (a bit in it, for a few instructions); anyone may look
//   a Node       who holds the lock of the cell that it belongs to
//   a clock      who holds its lock

#pragma once

#include <atomic>
#include <cstdint>

#include "event/quiet.h"

namespace syndrome::rt {

/// Makes the tables, once, and empties them in a forked child. False: there is no memory for them.
bool make_shadow();

inline constexpr unsigned kChunkBits = 24;
inline constexpr unsigned kChunkPages = 1u << (kChunkBits - 12);
inline constexpr std::size_t kChunkCells = std::size_t{1} << (kChunkBits - 3);
struct Chunk {
  sieve::Cell cells[kChunkCells];
  sieve::Cell more[kChunkCells];  // the second cells
  std::uint8_t dirty[kChunkPages];
  sieve::Word pages[kChunkPages];  // event/pages.h
};
extern Chunk** chunks;  // by address >> kChunkBits

Chunk* make_chunk(std::size_t index);

/// Null: there is no memory for it.
[[nodiscard]] inline sieve::Cell* cell_at(sieve::Word address) {
  const std::size_t index = address >> kChunkBits;
  Chunk* chunk = __atomic_load_n(&chunks[index], __ATOMIC_ACQUIRE);
  if (__builtin_expect(static_cast<long>(chunk == nullptr), 0) != 0) {
    chunk = make_chunk(index);
    if (chunk == nullptr) return nullptr;
  }
  return &chunk->cells[(address >> 3) % kChunkCells];
}
/// Before something is written to the cell of this address.
inline void soil(sieve::Word address) {
  std::uint8_t& dirty = chunks[address >> kChunkBits]->dirty[(address >> 12) % kChunkPages];
  if (__atomic_load_n(&dirty, __ATOMIC_RELAXED) == 0) __atomic_store_n(&dirty, 1, __ATOMIC_RELAXED);
}

/// The second cell of the granule.
[[nodiscard]] inline sieve::Cell& more_of(const sieve::Cell& cell) {
  return const_cast<sieve::Cell*>(&cell)[kChunkCells];
}

void lock_cell(sieve::Cell& cell);
inline void unlock_cell(sieve::Cell& cell) {
  __atomic_store_n(&cell.a, cell.a & ~sieve::Entry::kLock, __ATOMIC_RELEASE);
}

[[nodiscard]] sieve::Node& node_at(std::uint32_t number);
/// 0: there is no room.
[[nodiscard]] std::uint32_t more_nodes(std::uint32_t count);

/// What a lock, a barrier or a thread's number stands for, until someone else's takes its place.
struct SyncClock {
  std::atomic<std::uint32_t> lock;  // the tid of who has it; 0: nobody
  std::uint32_t life;               // another number whenever it is another object's
  sieve::Word object;
  sieve::Rounds rounds;
  sieve::LastRelease last;
  sieve::Signals signals;
  sieve::AtomicClock atomic;
  std::uint32_t atomic_bytes;  // of the object, when it is an atomic
  /// Who has been here, up to which position: at any of the objects that share this place.
  sieve::Known met;
  /// Likewise, with all that those were behind (Draft::behind).
  sieve::Known order;
  bool met_unknown;  // someone of whom no position is kept has been here
};
/// The clock of the object, locked; an empty one when there was none.
[[nodiscard]] SyncClock& lock_clock(sieve::Word object, bool in_memory);
/// What has the place of the object, whoever's it is, locked.
[[nodiscard]] SyncClock& lock_place(sieve::Word object);
inline void unlock_clock(SyncClock& clock) {
  clock.lock.store(0, std::memory_order_release);
}
void forget_clock(sieve::Word object);

}  // namespace syndrome::rt
