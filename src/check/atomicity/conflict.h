// Which two events conflict, for conflict serializability: the one definition that the oracle, the
// engines, the search for evidence and the verifier share.
//
// Two events e before f conflict when they are of the same thread, or
//   variable      both access one variable and at least one of them writes (rmw writes)
//   lock          e releases what f acquires: rel -> acq, rel -> acq_shared, rel_shared -> acq
//   fork, join    e forks f's thread; f joins e's thread
//   barrier       e arrives and f leaves in the same round of one barrier
//   semaphore     e posts what f waits for
//   condition     e signals or broadcasts what f has waited for
//   home-made     e is happens_before and f happens_after of one object
// Nested begin, end, acquire and release count for thread order only. Memory, function, fence and
// thread start or stop events too.
//
// A transaction is an outermost block of one thread, or a single event outside of every block.

#pragma once

#include <cstdint>

#include "clock/barrier_rounds.h"
#include "event/event.h"

namespace syndrome::check {

using clock::BarrierRounds;

/// In a trace in which each block is one thread's (check/determinism/flatten.h): the order of a
/// happens_before that stands for the last event of its thread, and leads to those who join it.
inline constexpr MemoryOrder kLastOfThread = MemoryOrder::kSeqCst;

[[nodiscard]] constexpr bool is_access(EventKind kind) {
  return kind == EventKind::kRead || kind == EventKind::kWrite || kind == EventKind::kRmw;
}
[[nodiscard]] constexpr bool is_write(EventKind kind) {
  return kind == EventKind::kWrite || kind == EventKind::kRmw;
}

/// Whether `e`, which comes first, conflicts with `f` of another thread. The rounds matter for
/// barrier events only.
[[nodiscard]] inline bool conflicts(const Event& e, const Event& f, std::uint64_t e_round = 0,
                                    std::uint64_t f_round = 0) {
  if (((e.flags | f.flags) & kDropped) != 0) return false;
  // A nested event is still an event of its thread for fork and join.
  if (e.kind == EventKind::kFork && e.child() == f.thread) return true;
  if (f.kind == EventKind::kJoin && f.child() == e.thread) return true;
  if (((e.flags | f.flags) & kNested) != 0) return false;
  if (e.target != f.target) return false;
  if (is_access(e.kind) && is_access(f.kind)) return is_write(e.kind) || is_write(f.kind);
  switch (e.kind) {
    case EventKind::kRelease:
      return f.kind == EventKind::kAcquire || f.kind == EventKind::kAcquireShared;
    case EventKind::kReleaseShared: return f.kind == EventKind::kAcquire;
    case EventKind::kBarrierArrive: return f.kind == EventKind::kBarrierLeave && e_round == f_round;
    case EventKind::kPost: return f.kind == EventKind::kWait;
    case EventKind::kHappensBefore: return f.kind == EventKind::kHappensAfter;
    case EventKind::kCondSignal:
    case EventKind::kCondBroadcast: return f.kind == EventKind::kCondWait;
    default: return false;
  }
}

}  // namespace syndrome::check
