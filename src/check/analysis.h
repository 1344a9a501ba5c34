// An analysis is a class with a handler for each kind of event that it cares about:
//
//   class CountWrites : public EventHandlers {
//    public:
//     void on_write(const Event&, EventNumber) { ++writes; }
//     std::uint64_t writes = 0;
//   };
//
// dispatch() finds the handler at compile time; what is not handled costs a jump. Several analyses
// share one pass over a trace by each taking every batch in turn (check/check.h), so that the only
// virtual call is one for each batch.

#pragma once

#include "event/event.h"

namespace syndrome::check {

/// Handlers that do nothing. An analysis hides those it needs; nothing here is virtual.
/// An event that is kNested comes to on_nested alone: most analyses ignore it.
class EventHandlers {
 public:
  void on_read(const Event&, EventNumber) {}
  void on_write(const Event&, EventNumber) {}
  void on_rmw(const Event&, EventNumber) {}
  void on_acquire(const Event&, EventNumber) {}
  void on_release(const Event&, EventNumber) {}
  void on_acquire_shared(const Event&, EventNumber) {}
  void on_release_shared(const Event&, EventNumber) {}
  void on_fork(const Event&, EventNumber) {}
  void on_join(const Event&, EventNumber) {}
  void on_begin(const Event&, EventNumber) {}
  void on_end(const Event&, EventNumber) {}
  void on_barrier_arrive(const Event&, EventNumber) {}
  void on_barrier_leave(const Event&, EventNumber) {}
  void on_post(const Event&, EventNumber) {}
  void on_wait(const Event&, EventNumber) {}
  void on_cond_wait(const Event&, EventNumber) {}
  void on_cond_signal(const Event&, EventNumber) {}
  void on_cond_broadcast(const Event&, EventNumber) {}
  void on_thread_start(const Event&, EventNumber) {}
  void on_thread_stop(const Event&, EventNumber) {}
  void on_alloc(const Event&, EventNumber) {}
  void on_free(const Event&, EventNumber) {}
  void on_enter(const Event&, EventNumber) {}
  void on_exit(const Event&, EventNumber) {}
  void on_fence(const Event&, EventNumber) {}
  void on_happens_before(const Event&, EventNumber) {}
  void on_happens_after(const Event&, EventNumber) {}
  void on_object(const Event&, EventNumber) {}
  void on_nested(const Event&, EventNumber) {}
  /// The trace is over; the number is that of its last event.
  void finish(EventNumber) {}
  /// A hint that `event` will come soon: prefetch what its handler will touch.
  void soon(const Event&) {}
};

/// An analysis may take reads, writes and rmws in one handler, on_access: which of them comes next
/// is hard to predict, so the less depends on it, the better.
template <class Analysis>
concept TakesAccesses = requires(Analysis analysis, const Event event, EventNumber number) {
  analysis.on_access(event, number);
};

/// Hands one event to its handler. Inlined into the loop over a batch: a call for each event costs
/// as much as the fast path of an analysis.
template <class Analysis>
[[gnu::always_inline]] inline void dispatch(Analysis& analysis, const Event& event,
                                            EventNumber number) {
  if (event.flags != 0) [[unlikely]] {
    if ((event.flags & kDropped) == 0) analysis.on_nested(event, number);
    return;
  }
  if constexpr (TakesAccesses<Analysis>) {
    if (event.kind <= EventKind::kRmw) [[likely]]
      return analysis.on_access(event, number);
  }
  switch (event.kind) {
    case EventKind::kRead: return analysis.on_read(event, number);
    case EventKind::kWrite: return analysis.on_write(event, number);
    case EventKind::kRmw: return analysis.on_rmw(event, number);
    case EventKind::kAcquire: return analysis.on_acquire(event, number);
    case EventKind::kRelease: return analysis.on_release(event, number);
    case EventKind::kAcquireShared: return analysis.on_acquire_shared(event, number);
    case EventKind::kReleaseShared: return analysis.on_release_shared(event, number);
    case EventKind::kFork: return analysis.on_fork(event, number);
    case EventKind::kJoin: return analysis.on_join(event, number);
    case EventKind::kBegin: return analysis.on_begin(event, number);
    case EventKind::kEnd: return analysis.on_end(event, number);
    case EventKind::kBarrierArrive: return analysis.on_barrier_arrive(event, number);
    case EventKind::kBarrierLeave: return analysis.on_barrier_leave(event, number);
    case EventKind::kPost: return analysis.on_post(event, number);
    case EventKind::kWait: return analysis.on_wait(event, number);
    case EventKind::kCondWait: return analysis.on_cond_wait(event, number);
    case EventKind::kCondSignal: return analysis.on_cond_signal(event, number);
    case EventKind::kCondBroadcast: return analysis.on_cond_broadcast(event, number);
    case EventKind::kThreadStart: return analysis.on_thread_start(event, number);
    case EventKind::kThreadStop: return analysis.on_thread_stop(event, number);
    case EventKind::kAlloc: return analysis.on_alloc(event, number);
    case EventKind::kFree: return analysis.on_free(event, number);
    case EventKind::kEnter: return analysis.on_enter(event, number);
    case EventKind::kExit: return analysis.on_exit(event, number);
    case EventKind::kFence: return analysis.on_fence(event, number);
    case EventKind::kHappensBefore: return analysis.on_happens_before(event, number);
    case EventKind::kHappensAfter: return analysis.on_happens_after(event, number);
    case EventKind::kObject: return analysis.on_object(event, number);
  }
}

/// Hands a whole batch, or the events up to the first after which `stop()` is true.
template <class Analysis, class Stop>
inline void dispatch(Analysis& analysis, const Batch& batch, Stop stop) {
  // Far enough for a miss of the last-level cache (about 80 ns) at 5 ns an event.
  constexpr std::size_t kAhead = 16;
  const std::span<const Event> events = batch.events;
  EventNumber number = batch.first;
  for (std::size_t i = 0; i < events.size(); ++i, ++number) {
    if (i + kAhead < events.size()) analysis.soon(events[i + kAhead]);
    dispatch(analysis, events[i], number);
    if (stop()) [[unlikely]]
      return;
  }
}

template <class Analysis>
inline void dispatch(Analysis& analysis, const Batch& batch) {
  dispatch(analysis, batch, [] { return false; });
}

}  // namespace syndrome::check
