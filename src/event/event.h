// The vocabulary that every stage speaks: what can happen in a run of a threaded program.
//
// A trace is a sequence of events in one total order that respects each thread's program order.
// An acquire is recorded after the real acquire, a release before the real release, so that the
// order also respects the program's own synchronization.

#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "event/ids.h"

namespace syndrome {

enum class EventKind : std::uint8_t {
  // Accesses to a variable (Space::kVariable).
  kRead,
  kWrite,
  kRmw,  // atomic read-modify-write: both a read and a write
  // Locks (Space::kLock).
  kAcquire,
  kRelease,
  kAcquireShared,
  kReleaseShared,
  // Threads (Space::kThread: the child).
  kFork,
  kJoin,
  // Blocks (Space::kLabel, 0 when the trace gives none).
  kBegin,
  kEnd,
  // Barriers (Space::kBarrier). All arrivals of a round come before every leave of it.
  kBarrierArrive,
  kBarrierLeave,
  // Semaphores (Space::kSemaphore). A wait is recorded when it returns.
  kPost,
  kWait,
  // Condition variables (Space::kCondition). A wait is recorded when it returns; the release and
  // acquire of its mutex are events of their own.
  kCondWait,
  kCondSignal,
  kCondBroadcast,
  // The acting thread's own first and last event; no target.
  kThreadStart,
  kThreadStop,
  // Memory (Space::kVariable): after kFree the same address is another variable.
  kAlloc,
  kFree,
  // Functions (Space::kLabel); which of them are blocks is decided by the spec.
  kEnter,
  kExit,
  // A memory fence of the acting thread; no target.
  kFence,
  // Home-made synchronization (Space::kSemaphore, but apart from posts and waits): what is before a
  // kHappensBefore is before what follows a later kHappensAfter of the same object.
  kHappensBefore,
  kHappensAfter,
  // An object that the function which was entered last works on (Space::kObject): what `this` or a
  // parameter points to.
  kObject,
};
inline constexpr std::size_t kEventKindCount = 28;

/// The words of STD traces, which reports use too: "r", "w", "acq", … One for each kind, in order.
inline constexpr std::array<std::string_view, kEventKindCount> kEventKindNames = {
    "r",
    "w",
    "rmw",
    "acq",
    "rel",
    "acq_shared",
    "rel_shared",
    "fork",
    "join",
    "begin",
    "end",
    "barrier_arrive",
    "barrier_leave",
    "post",
    "wait",
    "cond_wait",
    "cond_signal",
    "cond_broadcast",
    "thread_start",
    "thread_stop",
    "alloc",
    "free",
    "enter",
    "exit",
    "fence",
    "happens_before",
    "happens_after",
    "object",
};

[[nodiscard]] constexpr std::string_view name_of(EventKind kind) {
  return kEventKindNames[static_cast<std::size_t>(kind)];
}

/// Where the target of an event of this kind has its name; none for thread start and stop
/// and for fences.
[[nodiscard]] constexpr std::optional<Space> target_space(EventKind kind) {
  switch (kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kRmw:
    case EventKind::kAlloc:
    case EventKind::kFree: return Space::kVariable;
    case EventKind::kAcquire:
    case EventKind::kRelease:
    case EventKind::kAcquireShared:
    case EventKind::kReleaseShared: return Space::kLock;
    case EventKind::kFork:
    case EventKind::kJoin: return Space::kThread;
    case EventKind::kBegin:
    case EventKind::kEnd:
    case EventKind::kEnter:
    case EventKind::kExit: return Space::kLabel;
    case EventKind::kBarrierArrive:
    case EventKind::kBarrierLeave: return Space::kBarrier;
    case EventKind::kPost:
    case EventKind::kWait:
    case EventKind::kHappensBefore:
    case EventKind::kHappensAfter: return Space::kSemaphore;
    case EventKind::kCondWait:
    case EventKind::kCondSignal:
    case EventKind::kCondBroadcast: return Space::kCondition;
    case EventKind::kObject: return Space::kObject;
    case EventKind::kThreadStart:
    case EventKind::kThreadStop:
    case EventKind::kFence: return std::nullopt;
  }
  return std::nullopt;
}

/// What the well-formedness stage (trace/wellformed.h) found out about an event. Readers leave
/// flags at 0; analyses may rely on them.
enum EventFlag : std::uint8_t {
  /// A begin or end inside of another block, or an acquire or release of a lock that the thread
  /// holds anyway. Only the outermost pair counts.
  kNested = 1,
  /// An ill-formed event that --lenient passes over. No analysis sees it.
  kDropped = 2,
};

/// How an atomic access orders what is around it; kPlain: not atomic. A consume is an acquire.
enum class MemoryOrder : std::uint8_t {
  kPlain,
  kRelaxed,
  kAcquire,
  kRelease,
  kAcqRel,
  kSeqCst,
};
inline constexpr std::size_t kMemoryOrderCount = 6;

/// The word of STD traces for a kind with an order: "r_acquire", "fence_seq_cst"; without one it is
/// that of the kind. Empty when the kind cannot have the order.
[[nodiscard]] constexpr std::string_view word_of(EventKind kind, MemoryOrder order) {
  using Words = std::array<std::string_view, kMemoryOrderCount>;
  constexpr Words kReads = {"", "r_relaxed", "r_acquire", "", "", "r_seq_cst"};
  constexpr Words kWrites = {"", "w_relaxed", "", "w_release", "", "w_seq_cst"};
  constexpr Words kRmws = {"",           "rmw_relaxed", "rmw_acquire", "rmw_release", "rmw_acq_rel",
                           "rmw_seq_cst"};
  constexpr Words kFences = {
      "", "", "fence_acquire", "fence_release", "fence_acq_rel", "fence_seq_cst"};
  if (order == MemoryOrder::kPlain) return name_of(kind);
  const auto index = static_cast<std::size_t>(order);
  if (index >= kMemoryOrderCount) return {};
  switch (kind) {
    case EventKind::kRead: return kReads[index];
    case EventKind::kWrite: return kWrites[index];
    case EventKind::kRmw: return kRmws[index];
    case EventKind::kFence: return kFences[index];
    default: return {};
  }
}

struct Event {
  ThreadId thread;
  std::uint32_t target = 0;  // in target_space(kind)
  SiteId site;
  EventKind kind = EventKind::kRead;
  std::uint8_t flags = 0;                   // EventFlag
  MemoryOrder order = MemoryOrder::kPlain;  // of accesses and fences
  std::uint8_t unused = 0;

  [[nodiscard]] VarId var() const { return as<VarId>(Space::kVariable); }
  [[nodiscard]] LockId lock() const { return as<LockId>(Space::kLock); }
  [[nodiscard]] ThreadId child() const { return as<ThreadId>(Space::kThread); }
  [[nodiscard]] LabelId label() const { return as<LabelId>(Space::kLabel); }
  [[nodiscard]] BarrierId barrier() const { return as<BarrierId>(Space::kBarrier); }
  [[nodiscard]] SemaphoreId semaphore() const { return as<SemaphoreId>(Space::kSemaphore); }
  [[nodiscard]] ConditionId condition() const { return as<ConditionId>(Space::kCondition); }
  [[nodiscard]] ObjectId object() const { return as<ObjectId>(Space::kObject); }

  friend constexpr bool operator==(const Event&, const Event&) = default;

 private:
  template <class IdType>
  [[nodiscard]] IdType as([[maybe_unused]] Space space) const {
    assert(target_space(kind) == space);
    return IdType(target);
  }
};
// Batches of events stream through the caches of two cores; a power of two keeps them aligned.
static_assert(sizeof(Event) == 16);

/// Consecutive events of a trace. `first` is the number of events[0].
struct Batch {
  std::span<Event> events;
  EventNumber first = 1;

  [[nodiscard]] bool empty() const { return events.empty(); }
};

}  // namespace syndrome
