// What a correct reordering of a trace is: the one place that says so, for the oracle and for the
// verifier. The search for reorderings does not use it.
//
// A correct reordering takes a prefix of each thread's events and puts them in an order in which
//   threads       a forked thread begins after its fork; a join comes after all of the thread's
//                 events, and after its fork
//   locks         no two threads hold a lock together, unless both share it; only the outermost
//                 pair of a re-entrant lock counts
//   signals       a wait for a semaphore or condition, and a happens_after, comes after every post,
//                 signal, broadcast or happens_before of the same object that it came after in the
//                 trace
//   barriers      who leaves a round comes after all who arrive in it; who arrives in a round comes
//                 after all who arrive in the round before
//   memory        an alloc or free comes after all that came before it on its variable, and before
//                 all that came after it: the variable is a new one (a new location); and what
//                 published.h says of memory that another thread made
//   reads         every read but the last event reads the write that it read in the trace. 0 is the
//                 write of the initial value. An rmw reads and then writes.
// A complete reordering has all events, and all of its reads read as in the trace.
//
// The order is one in which all threads see every write at once (sequential consistency).

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "check/nondeterminism/published.h"
#include "event/event.h"

namespace syndrome::check {

[[nodiscard]] constexpr bool reads(EventKind kind) {
  return kind == EventKind::kRead || kind == EventKind::kRmw;
}
[[nodiscard]] constexpr bool writes(EventKind kind) {
  return kind == EventKind::kWrite || kind == EventKind::kRmw;
}

class Reorderings {
 public:
  /// A trace, well-formed, with its flags set; kDropped events are no part of it. Events are spoken
  /// of by their numbers, from 1.
  explicit Reorderings(std::span<const Event> events, std::span<const Precedence> precedences = {});

  /// How far a reordering has come.
  struct State {
    std::vector<std::uint32_t> done;       // events of each thread
    std::vector<std::uint32_t> leading;    // of each object: so many signals are known done
    std::vector<std::uint32_t> exclusive;  // of each lock: 1 + the thread that holds it, or 0
    std::vector<std::uint32_t> shared;     // of each lock: how many share it
    std::vector<EventNumber> last;         // of each location: the last write
  };
  [[nodiscard]] State start() const;

  [[nodiscard]] std::size_t threads() const { return of_thread_.size(); }
  [[nodiscard]] std::size_t locations() const { return locations_; }
  /// Its events in order.
  [[nodiscard]] const std::vector<EventNumber>& of_thread(std::size_t thread) const {
    return of_thread_[thread];
  }
  [[nodiscard]] std::size_t events() const { return counted_; }

  /// Why the event cannot come next; empty when it can. Does not judge what it reads.
  [[nodiscard]] std::string_view refusal(State& state, EventNumber event) const;
  /// Requires that it can.
  void apply(State& state, EventNumber event) const;

  // Of accesses alone.
  [[nodiscard]] std::uint32_t location(EventNumber access) const { return at(access).location; }
  /// The write that a read read in the trace.
  [[nodiscard]] EventNumber writer(EventNumber read) const { return at(read).writer; }
  [[nodiscard]] const Event& event(EventNumber number) const { return events_[number - 1]; }
  [[nodiscard]] bool exists(EventNumber number) const {
    return number != 0 && number <= events_.size() && (events_[number - 1].flags & kDropped) == 0;
  }

  /// By location that is there at the end of the trace and was written: its last write there; 0 for
  /// all others.
  [[nodiscard]] const std::vector<EventNumber>& finals() const { return finals_; }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  /// The first `count` signals of an object must have happened.
  struct Need {
    std::uint32_t object = kNone;
    std::uint32_t count = 0;
  };
  struct Entry {
    std::uint32_t position = 0;  // in its thread
    std::uint32_t location = kNone;
    EventNumber writer = 0;
    Need needs[2];
  };
  class Builder;

  [[nodiscard]] const Entry& at(EventNumber number) const { return entries_[number - 1]; }
  [[nodiscard]] bool is_done(const State& state, EventNumber event) const;
  [[nodiscard]] bool signalled(State& state, const Need& need) const;

  std::span<const Event> events_;
  std::vector<Entry> entries_;
  std::vector<std::vector<EventNumber>> of_thread_;
  std::vector<std::vector<EventNumber>> signals_;  // of each object, as in the trace
  std::vector<EventNumber> finals_;
  std::unordered_map<EventNumber, std::vector<EventNumber>> published_;  // what comes before it
  std::size_t locations_ = 0;
  std::size_t locks_ = 0;
  std::size_t counted_ = 0;
};

/// What is claimed of a schedule.
struct Claim {
  /// The read that ends it; 0: it is complete, and `write` and `challenger` are the last writes to
  /// one location in the trace and in the schedule.
  EventNumber read = 0;
  EventNumber write = 0;
  EventNumber challenger = 0;
};

/// Why the schedule is not a correct reordering that shows what is claimed; none when it is.
[[nodiscard]] std::optional<std::string> reject(const Reorderings& trace, const Claim& claim,
                                                std::span<const EventNumber> schedule);

}  // namespace syndrome::check
