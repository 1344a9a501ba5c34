// A process in flight (session.h, Mode): its rings go round, and whoever finds something wrong asks
// for a window, a recording of what all threads did last. Nothing is written anywhere else.
//
// The engine that decides while the program runs (docs/architecture.md) is called from here and
// from nowhere else: engine_take, engine_sync, engine_begin, engine_end.
//
// May be called from a probe (full.cc): no vector registers, nothing of the C library.

#pragma once

#include <cstddef>
#include <cstdint>

#include "event/wire.h"
#include "runtime/session.h"
#include "runtime/thread.h"

namespace syndrome::rt {

// What the engine gets, in the order in which the thread did it.

/// Words of the thread's line, whole records. Accesses, ranges, functions, locals, loops; of
/// synchronization among them it has heard by engine_sync.
inline void engine_take(Thread& /*its*/, const wire::Word* /*begin*/, const wire::Word* /*end*/) {}
/// Before a real release, after a real acquire, while an atomic's shard is held; `operand` as in
/// wire::Sync. Memory that begins or ends its life (kAlloc, kFree) comes here, too.
inline void engine_sync(Thread& /*its*/, wire::Sync /*kind*/, std::uintptr_t /*object*/,
                        wire::Word /*operand*/) {}
/// The thread has its ring; it is about to give that up.
inline void engine_begin(Thread& /*its*/) {}
inline void engine_end(Thread& /*its*/) {}

/// The process beside writes down what is in all rings now. Waits until it has, at most a tenth of
/// a second, so that the caller's own last words are in the window for certain; nobody else waits.
/// Not from a probe that may not sleep.
void request_window();

[[nodiscard]] inline bool in_flight() {
  return tls.flight != nullptr;
}

/// From here on rings may go round or be reused. False: the process has left flight.
[[nodiscard]] bool go_round();
/// For a thread that has just got its ring; `reused`: with another one's words in it.
void begin_flight(bool reused);
/// Goes on to the line that begins behind `next` words, in place of what turn_line() does with a
/// ring that somebody empties. False: it has left flight.
[[nodiscard]] bool fly_on(Thread& its, std::uint64_t next);
/// Whether a test wants a window now, at the end of a line.
[[nodiscard]] bool wants_window(const Thread& its);
/// Of a process that comes to its session.
[[nodiscard]] Mode begin_mode();
/// For a unit with annotations that have to be followed for the whole run, before its code runs:
/// all words are recorded, unless some are lost already.
void leave_flight();

/// Gives the engine what it has not had of the thread's line.
inline void take_line(Thread& its, const wire::Word* end) {
  if (its.taken < end) engine_take(its, its.taken, end);
  its.taken = end;
}

/// The thread is about to record this synchronization.
inline void hear_sync(wire::Sync kind, std::uintptr_t object, wire::Word operand) {
  if (!in_flight()) return;
  take_line(tls, cursor());
  engine_sync(tls, kind, object, operand);
}

}  // namespace syndrome::rt
