// Which events happen before the current one, while a trace passes: vector clocks.
//
// Happens-before is the least transitive relation that has
//   thread        e and f are of one thread, e comes first
//   fork, join    e forks f's thread; f joins e's thread; or f joins the thread that e forks
//   lock          e releases what f acquires later: rel -> acq, rel -> acq_shared, rel_shared ->
//   acq barrier       e arrives and f leaves in the same round of one barrier semaphore     e
//   posts, f waits for the same semaphore later home-made     e is happens_before and f a later
//   happens_after of one object atomic        e synchronizes with f as in C++20 (31.4, 31.11): f
//   reads with acquire what e wrote
//                 with release, or what an unbroken chain of read-modify-writes made of that; a
//                 fence takes the place of the order on either side. What a read reads is the last
//                 write before it in the trace. An rmw without a memory order is seq_cst,
//                 a fence without one is nothing.
// Condition variables order nothing by themselves: a wait may return without a signal, so what it
// may rely on is the mutex, whose release and acquire are events of their own. Nested lock
// operations, blocks, functions and memory events count for thread order only; but an alloc or free
// makes the variable a new one.
//
// Time is the number of events (clock/vector_clock.h). Every thread has a clock: for each slot, the
// last event that happens before what the thread does now. Its own entry is kNow. What others may
// learn of (a lock's clock, …) is a copy with the number of the releasing event in that entry.
//
// A slot is a thread, or a chain of threads each of which began knowing all that the one before it
// has done: a program that forks and joins a million threads, a few at a time, needs a few slots.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "check/analysis.h"
#include "clock/vector_clock.h"
#include "event/event.h"

namespace syndrome::check {

[[nodiscard]] constexpr bool is_atomic(const Event& access) {
  return access.order != MemoryOrder::kPlain || access.kind == EventKind::kRmw;
}
/// The order of an atomic access or of a fence. A fence without one orders nothing.
[[nodiscard]] constexpr MemoryOrder order_of(const Event& atomic) {
  if (atomic.order != MemoryOrder::kPlain) return atomic.order;
  return atomic.kind == EventKind::kRmw ? MemoryOrder::kSeqCst : MemoryOrder::kRelaxed;
}
[[nodiscard]] constexpr bool acquires(MemoryOrder order) {
  return order == MemoryOrder::kAcquire || order == MemoryOrder::kAcqRel ||
         order == MemoryOrder::kSeqCst;
}
[[nodiscard]] constexpr bool releases(MemoryOrder order) {
  return order == MemoryOrder::kRelease || order == MemoryOrder::kAcqRel ||
         order == MemoryOrder::kSeqCst;
}

class HappensBefore : public EventHandlers {
 public:
  /// Threads that no other has outlived knowingly; more are refused, see too_many_threads().
  /// So many clocks of so many entries are 512 MiB.
  static constexpr std::size_t kMaxSlots = std::size_t{1} << 13;

  /// Whether the event `number` of `slot` happens before what `thread` does now. The event must be
  /// an access or synchronization of a thread that had this slot then. Events of one slot are
  /// ordered.
  [[nodiscard]] bool before(std::size_t slot, EventNumber number, ThreadId thread) const {
    return threads_[thread.index()].clock[slot] >= number;
  }
  /// Requires that the thread has had an event or was forked.
  [[nodiscard]] std::size_t slot_of(ThreadId thread) const { return threads_[thread.index()].slot; }
  /// The thread's last event of which others could have learned; what it does after that is one
  /// epoch: all others know either all or nothing of it.
  [[nodiscard]] EventNumber epoch_begin(ThreadId thread) const {
    return threads_[thread.index()].published;
  }
  /// What the thread knows now; the entry of its own slot is kNow.
  [[nodiscard]] const clock::VectorClock& clock_of(ThreadId thread) const {
    return threads_[thread.index()].clock;
  }
  static constexpr EventNumber kNow = std::numeric_limits<EventNumber>::max();

  /// More than kMaxSlots would be needed: what came since then was not followed.
  [[nodiscard]] bool too_many_threads() const { return too_many_threads_; }
  [[nodiscard]] std::size_t slots() const { return slots_.size(); }

  // Handlers. An access goes first through begin_access (what it acquires), is looked at, and then
  // through end_access (what it releases); on_access does both.
  void on_access(const Event& e, EventNumber n) {
    begin_access(e, n);
    end_access(e, n);
  }
  void begin_access(const Event& e, EventNumber n) {
    Thread& thread = known(e.thread);
    thread.last = n;
    if (is_atomic(e)) [[unlikely]]
      begin_atomic(e, thread);
  }
  void end_access(const Event& e, EventNumber n) {
    if (e.kind == EventKind::kRead) return;
    if (is_atomic(e)) [[unlikely]]
      return end_atomic(e, n);
    if (e.target < written_.size()) [[unlikely]]
      written_[e.target].reset();
  }
  void on_acquire(const Event& e, EventNumber n);
  void on_release(const Event& e, EventNumber n);
  void on_acquire_shared(const Event& e, EventNumber n);
  void on_release_shared(const Event& e, EventNumber n);
  void on_fork(const Event& e, EventNumber n);
  void on_join(const Event& e, EventNumber n);
  void on_barrier_arrive(const Event& e, EventNumber n);
  void on_barrier_leave(const Event& e, EventNumber n);
  void on_post(const Event& e, EventNumber n);
  void on_wait(const Event& e, EventNumber n);
  void on_happens_before(const Event& e, EventNumber n);
  void on_happens_after(const Event& e, EventNumber n);
  void on_fence(const Event& e, EventNumber n);
  void on_thread_stop(const Event& e, EventNumber n);
  void on_alloc(const Event& e, EventNumber) { forget(e.target); }
  void on_free(const Event& e, EventNumber) { forget(e.target); }

 private:
  /// A clock that was passed on. `number` of `slot` is the event that passed it on, if there is one
  /// such that whoever knows of it knows all of the clock; otherwise number is 0.
  struct Released {
    clock::VectorClock clock;
    std::uint32_t slot = 0;
    EventNumber number = 0;

    [[nodiscard]] bool empty() const { return clock.empty(); }
  };
  /// What only threads with fences or relaxed accesses have.
  struct Fences {
    Released released;           // at the last release fence
    clock::VectorClock pending;  // read by relaxed reads, for the next acquire fence
  };
  struct Thread {
    clock::VectorClock clock;
    EventNumber published = 0;
    EventNumber last = 0;  // its last access or synchronization
    std::uint32_t slot = kNoSlot;
    bool ended = false;
    std::unique_ptr<Fences> fences;
  };
  struct Slot {
    EventNumber ended = 0;  // the last event of its last thread, once that has ended
  };
  struct Lock {
    Released exclusive;
    clock::VectorClock shared;  // of shared releases since the last exclusive one
  };
  struct Barrier {
    std::shared_ptr<clock::VectorClock> open;  // of the round that arrivals join
    bool closed = true;                        // someone has left it
    std::unordered_map<ThreadId, std::shared_ptr<clock::VectorClock>> arrived;
  };
  static constexpr std::uint32_t kNoSlot = std::numeric_limits<std::uint32_t>::max();

  /// The thread, with a slot.
  [[nodiscard]] Thread& known(ThreadId id) {
    if (id.index() >= threads_.size() || threads_[id.index()].slot == kNoSlot) [[unlikely]] {
      return introduce(id);
    }
    return threads_[id.index()];
  }
  [[nodiscard]] Thread& introduce(ThreadId id);
  [[nodiscard]] Thread& acting(const Event& e, EventNumber n);
  [[nodiscard]] std::uint32_t take_slot(const Thread* forker);
  void end_thread(Thread& thread);
  void learn(Thread& thread, const Released& released);
  void learn(Thread& thread, const clock::VectorClock& clock);
  /// Copies what the thread knows, its event n included.
  void publish(Thread& thread, EventNumber n, Released& into);
  /// The same, added to what is there.
  void publish(Thread& thread, EventNumber n, clock::VectorClock& into);
  void begin_atomic(const Event& e, Thread& thread);
  void end_atomic(const Event& e, EventNumber n);
  void forget(std::uint32_t variable) {
    if (variable < written_.size()) written_[variable].reset();
  }

  std::vector<Thread> threads_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> ended_slots_;  // whose thread has ended, for others to take over
  std::vector<Lock> locks_;
  std::vector<Barrier> barriers_;
  std::vector<clock::VectorClock> semaphores_;
  std::vector<clock::VectorClock> objects_;  // of happens_before
  /// By variable: what an acquire that reads it now learns. None after a plain write.
  std::vector<std::unique_ptr<Released>> written_;
  bool too_many_threads_ = false;
};

}  // namespace syndrome::check
