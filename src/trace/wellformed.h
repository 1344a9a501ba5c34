// The first stage behind a reader: is each event possible after those before it?
//
// Also marks what does not count (EventFlag::kNested: inner blocks, re-entrant lock operations),
// so that no analysis has to. A fault is one of
//   - a release (or shared release) of a lock that the thread does not hold in that way
//   - an acquire of a lock that another thread holds (exclusively, or shared when this is
//   exclusive)
//   - an acquire of a lock that the thread itself holds in the other way, shared or exclusive
//   - an event of a thread after it was joined or has stopped
//   - a fork of a thread that has had events, was forked before, or is the forking thread itself
//   - a thread that joins itself
//   - a thread_start that is not the thread's first event
//   - an end without a begin, an exit without an enter
//   - a barrier left without having arrived
// Threads that nobody forked may simply appear; locks and blocks may be open at the end. A thread
// may be joined more than once (Java allows it).
//
// A thread holds a lock in one way at a time. Within one way it may take the lock again and again,
// and only the outermost pair counts. Changing the way without letting go is a fault in both
// directions: a mutex that can do it atomically is recorded as a release and an acquire.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "event/event.h"
#include "event/names.h"

namespace syndrome::trace {

struct Fault {
  EventNumber event = 0;
  std::string message;  // what is wrong, in the names of the trace, without the event's number
};

class WellFormed {
 public:
  /// Called for each fault, in order. Returns whether to go on; then the event is kDropped, and
  /// the stage goes on as if it was not there.
  using OnFault = std::function<bool(const Fault&)>;

  explicit WellFormed(OnFault on_fault);
  ~WellFormed();
  WellFormed(WellFormed&&) noexcept;
  WellFormed& operator=(WellFormed&&) noexcept;

  /// Sets the flags of each event. False when on_fault asked to stop: then `batch.events` holds
  /// only the events before the fault. Events that are kDropped already are passed over.
  [[nodiscard]] bool apply(Batch& batch, const Names& names);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace syndrome::trace
