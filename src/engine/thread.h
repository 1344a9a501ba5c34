// What the engine keeps of a thread. The host gives the memory, zeroed, and the thread itself is
// the only one who uses it: but for what is said to be public, and for a beginning of a new era,
// while no thread is inside the engine.
//
//   field        written by        read by
//   inside       the thread        who begins an era, who waits for it to be 0
//   next_live    under the         likewise
//                engine's lock
//   the rest     the thread        the thread, and who begins an era
//
// An *epoch* is the thread's own time. It advances when the thread releases something; and when an
// activation begins that matters or a lock is acquired, so that of each entry it shows whether it
// is from before. It does so only if something was stored in a cell since it began.

#pragma once

#include <atomic>
#include <cstdint>

#include "engine/cell.h"
#include "engine/contexts.h"
#include "engine/host.h"

namespace syndrome::engine {

// Without initializers: a thread has room for many, and most are never touched.

/// A function that runs.
struct Frame {
  const Node* node;
  const unit::Function* function;
  std::uint64_t mark;   // wire::Control::kFrame
  std::uint32_t begin;  // epoch
  bool leaf;            // it ends behind its next access
};

struct Hold {
  std::uint64_t object;
  std::uint32_t since;  // epoch
  std::uint32_t times;
};

/// A round of a barrier that the thread has arrived in and not left.
struct Arrival {
  std::uint64_t object = 0;
  std::uint32_t round = 0;
  bool valid = false;
};

/// An own entry that was still wanted and had no room in its cell.
struct Evicted {
  std::uint64_t granule = 0;
  Entry entry = 0;
};

struct Thread {
  static constexpr std::uint32_t kSets = 128;
  static constexpr std::uint32_t kInSet = 8;
  static constexpr std::uint32_t kFrames = 1u << 15;
  static constexpr std::uint32_t kHolds = 64;
  static constexpr std::uint32_t kArrivals = 4;

  Entry prefix = 0;            // slot and epoch, as in an entry
  Entry stored = 0;            // the prefix of the last entry that was stored
  const Node* node = nullptr;  // of the innermost function
  std::uint32_t epoch = 0;
  std::uint32_t slot = 0;  // 0: none was left; its accesses are checked and not kept
  /// Entries from this epoch on are of an activation that is open and matters, or of a critical
  /// section that is open; kNever: there is none.
  std::uint32_t floor = kNever;
  std::uint32_t held_since = kNever;  // the lock that is held longest
  std::uint32_t open_since = kNever;  // the outermost activation that matters
  std::uint32_t fork_floor = 0;       // the last fork or join
  std::uint32_t wait_floor = 0;       // the last time it waited for another thread
  std::uint32_t depth = 0;            // of functions that run
  std::uint32_t open_depth = 0;       // of the outermost one that matters
  std::uint32_t held = 0;
  std::uint32_t evicted_last = 0;  // the last epoch of an entry among `evicted`
  std::uint32_t evicted_next = 0;
  std::uint64_t noted_granule = 0;  // of the last note that it has made, and about whom
  std::uint32_t noted_slot = 0;
  std::uint64_t asked_key = 0;  // of the last candidate, and at which of its accesses it was
  std::uint64_t asked_at = 0;
  std::uint32_t times_seen = 0;  // of Slot::times
  std::uint32_t wide = 0;        // upper bits of the next site
  std::uint32_t entering = 0;    // calls of the engine that have not returned
  bool loose = true;             // no lock is held
  bool wants_slot = false;
  bool fenced = false;       // `released` has something
  bool waits_fence = false;  // `pending` has something
  bool everything = false;   // it counts as knowing all that others have done and will do
  bool live = false;
  std::uint64_t number = 0;
  Counters counters;

  std::atomic<std::uint32_t> inside{0};
  Thread* next_live = nullptr;

  Evicted evicted[kSets][kInSet];
  Hold holds[kHolds];
  Arrival arrivals[kArrivals];
  /// What the thread knows: of each slot, the last epoch that happens before now.
  std::uint32_t clock[kSlots] = {};
  std::uint32_t released[kSlots] = {};  // by its last release fence
  std::uint32_t pending[kSlots] = {};   // by its relaxed loads, for its next acquire fence
  Frame frames[kFrames];
};

}  // namespace syndrome::engine
