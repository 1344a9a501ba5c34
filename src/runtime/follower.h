// What a thread that follows its own accesses (follow.h) keeps, and what the files of that share.
// Internal.

#pragma once

#include <atomic>
#include <cstdint>

#include "event/sieve.h"
#include "event/unit.h"
#include "event/wire.h"
#include "runtime/shadow.h"
#include "runtime/thread.h"

namespace syndrome::rt {

using sieve::Access;
using sieve::Cell;
using sieve::Entry;
using wire::Word;

/// A function that runs.
struct Frame {
  const unit::Function* function;
  std::uint64_t mark;  // of its setjmp
  std::uint32_t call;
  std::uint32_t flags;  // unit::kLiveBlock, unit::kLiveAtomic
};

/// What an access of the thread is compared with, in its place in an entry.
struct Mine {
  static constexpr Word kWho = (Word{sieve::kSlots - 1} << 16) | Entry::kAtomic | Entry::kLock;
  Word who;
  Word first;
  Word since;
  Word fresh;

  void set(const sieve::Thread& thread) {
    who = Entry::of(thread.slot, 0).bits;
    first = thread.first << sieve::kPositionShift;
    since = thread.since << sieve::kPositionShift;
    fresh = Entry::of(thread.slot, thread.position).bits;
  }
};

struct Follower {
  static constexpr std::uint32_t kMaxDepth = 1u << 16;
  static constexpr std::uint32_t kMaxHandlers = 4;
  static constexpr std::uint32_t kKnownFunctions = 256;

  /// Of a function: its sites, and the number that the first of them has in the process.
  struct Sites {
    const unit::Function* function;
    const unit::Site* first;
    std::uint32_t count;
    std::uint32_t base;
  };

  alignas(256) Word lines[1 + kMaxHandlers][wire::kLineWords];  // the first is the thread's
  Word* done;                                                   // what is before has been settled
  std::uint32_t handlers;
  std::uint32_t depth;
  std::uint32_t told_depth;  // frames that are in the ring; always the outermost ones
  std::uint32_t lost_depth;  // frames that there was no room for
  std::uint32_t blocks;      // atomic ones among the frames
  std::uint32_t scopes;      // scoped blocks
  std::uint32_t wide;        // upper bits of the next site
  std::uint32_t leaf;        // 1: the innermost frame ends after the next access
  std::uint32_t round;       // of the barrier that the thread waits at …
  std::uint32_t round_life;  // … and SyncClock::life then
  std::uint32_t free_nodes;  // a list
  std::uint32_t units;       // that there were when `known` was begun
  bool locks;                // what locks order counts
  // For settle_for().
  Thread* its_thread;
  const ThreadWindow* its_window;
  // Held now: a handler that is left by longjmp may have come in between.
  Cell* cell;
  SyncClock* clock;
  sieve::Thread thread;
  Mine mine;
  Sites now;  // of the function that ran last
  Sites known[kKnownFunctions];
  Frame frames[kMaxDepth];
};

// follow_units.cc

extern std::atomic<std::uint32_t> unit_count;
[[nodiscard]] Follower::Sites find_sites(const unit::Function* function);
[[nodiscard]] inline const Follower::Sites& sites_of_function(Follower& self,
                                                              const unit::Function* function) {
  const std::uint32_t count = unit_count.load(std::memory_order_relaxed);
  if (self.now.function == function && self.units == count) return self.now;
  if (self.units != count) {
    self.units = count;
    for (Follower::Sites& known : self.known) known.function = nullptr;
  }
  Follower::Sites& known =
      self.known[(reinterpret_cast<std::uintptr_t>(function) >> 5) % Follower::kKnownFunctions];
  if (__builtin_expect(static_cast<long>(known.function != function), 0) != 0) {
    known = find_sites(function);
  }
  self.now = known;
  return known;
}

/// The unit of a site, and its index there, by its number in the process.
struct Where {
  std::uintptr_t unit;
  std::uint32_t index;
};
[[nodiscard]] Where where_of(std::uint32_t site);
void reset_units();

// follow.cc

/// The functions that run, as far as the ring has not got them.
void tell_frames(Follower& self);
/// An event of the thread is in the ring.
void told(Follower& self);

// follow_order.cc

/// For a process that begins.
void reset_order();
/// For a thread that begins; null: there is no room for it.
[[nodiscard]] Follower* begin_order(std::uint32_t slot);
void end_order(Follower& self);
/// Its block has begun or ended.
void set_begin(Follower& self);
[[nodiscard]] Word begin_of(std::uint32_t slot);
/// All threads know of what the slot did at positions below.
[[nodiscard]] Word horizon_of(std::uint32_t slot);
[[nodiscard]] std::uint32_t slots_in_use();
[[nodiscard]] Follower* follower_of(std::uint32_t slot);  // null: it has no thread

}  // namespace syndrome::rt
