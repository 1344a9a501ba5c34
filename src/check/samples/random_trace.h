// Small random well-formed traces, for comparing an analysis with its oracle.
//
// Each seed draws a shape first (how many threads, variables, locks; how often blocks, forks, …)
// and then a trace of it. The shapes are chosen for what has gone wrong in such algorithms: few
// variables under many threads, nested blocks, events outside of blocks, forks inside of blocks,
// children without an event, threads that just appear, threads joined while their block is open,
// re-entrant and shared locks, barrier rounds that overlap, blocks and locks open at the end.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "event/event.h"
#include "event/names.h"

namespace syndrome::check {

/// A trace in memory, its flags set as trace/wellformed.h does.
struct SmallTrace {
  std::vector<Event> events;
  Names names;
};

struct RandomOptions {
  /// Atomic accesses with memory orders, fences and much synchronization; few blocks. Most events
  /// are at one of a few sites.
  bool orders = false;
  /// Threads forked inside of blocks, blocks in blocks, barriers and semaphores; threads keep to
  /// their own variables more or less, so that not everything is in conflict.
  bool forks = false;
  /// Most events are at one of a few sites, also without `orders`.
  bool sites = false;
  /// Few events of few threads, with much synchronization: for oracles that try all orders.
  bool few = false;
};
[[nodiscard]] SmallTrace random_trace(std::uint64_t seed, const RandomOptions& options = {});

/// As STD text, one line for each event.
[[nodiscard]] std::string to_std(const SmallTrace& trace);

/// The opposite, for traces that are written down in tests: "T1|w(x)" or "T1|w(x)|place" on each
/// line, blanks before it ignored. Sets the flags. What it cannot read, or is not well-formed, is a
/// mistake in the test: it throws std::invalid_argument.
[[nodiscard]] SmallTrace from_std(std::string_view text);

/// What well-formedness has to know of the past: the rules of trace/wellformed.h.
class TraceState {
 public:
  [[nodiscard]] bool allows(const Event& event) const;
  /// Requires allows(event). Sets its flags.
  void apply(Event& event);

  [[nodiscard]] std::uint32_t depth(ThreadId thread) const;
  [[nodiscard]] bool gone(ThreadId thread) const { return gone_.contains(thread); }
  [[nodiscard]] bool seen(ThreadId thread) const { return seen_.contains(thread); }
  [[nodiscard]] bool holds(ThreadId thread, std::uint32_t lock) const;
  [[nodiscard]] bool at_barrier(ThreadId thread, std::uint32_t barrier) const {
    return arrived_.contains({thread, barrier});
  }

 private:
  struct Lock {
    std::map<ThreadId, std::uint32_t> holders;  // with how often
    bool shared = false;
  };
  std::set<ThreadId> seen_;  // had an event, or was forked
  std::set<ThreadId> acted_;
  std::set<ThreadId> gone_;  // joined or stopped
  std::map<ThreadId, std::uint32_t> depth_;
  std::map<ThreadId, std::uint32_t> functions_;
  std::map<std::uint32_t, Lock> locks_;
  std::set<std::pair<ThreadId, std::uint32_t>> arrived_;  // (thread, barrier), not left yet
};

/// Sets every flag anew. False when the trace is not well-formed.
[[nodiscard]] bool set_flags(std::span<Event> events);

}  // namespace syndrome::check
