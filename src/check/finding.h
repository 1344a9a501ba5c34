// What a check gives back. Findings speak in event numbers and ids; report/ turns them into words.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "event/event.h"

namespace syndrome::check {

enum class Verdict : std::uint8_t { kClean, kViolated, kUndecided };
enum class Certainty : std::uint8_t { kObserved, kPredicted, kConfirmed };

[[nodiscard]] constexpr std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kClean: return "clean";
    case Verdict::kViolated: return "violated";
    case Verdict::kUndecided: return "undecided";
  }
  return "";
}
[[nodiscard]] constexpr std::string_view name_of(Certainty certainty) {
  switch (certainty) {
    case Certainty::kObserved: return "observed";
    case Certainty::kPredicted: return "predicted";
    case Certainty::kConfirmed: return "confirmed";
  }
  return "";
}

/// An event that a finding speaks of, with what a reader needs to place it.
struct Witness {
  EventNumber number = 0;
  Event event;
  EventNumber block = 0;      // begin of the outermost block around it; 0 outside of blocks
  Event block_begin;          // that begin itself, when block != 0
  std::vector<LockId> locks;  // held by the thread at the event, oldest first
  EventNumber block_end = 0;  // end of that block, where the check knows it; 0: unknown or open
};

/// `from` conflicts with `to` and comes before it.
struct Edge {
  EventNumber from = 0;
  EventNumber to = 0;
  friend bool operator==(const Edge&, const Edge&) = default;
};

struct Finding {
  std::string_view check;  // "atomicity"
  std::string_view rule;   // "conflict-cycle"
  Certainty certainty = Certainty::kObserved;
  EventNumber event = 0;  // where it was noticed
  EventNumber block = 0;  // begin of the violating block, 0 when the rule has none
  /// conflict-cycle, external-cycle: consecutive edges meet in one transaction; the first leaves
  /// the violating block, the last comes back to it.
  /// set-cycle: the first edge leaves the first of `units`, and so on; the last comes back to it.
  std::vector<Edge> cycle;
  /// race, conflict-in-block: the two, ascending; pattern: its three or four.
  std::vector<EventNumber> events;
  /// Of the rule `pattern` (check/patterns.h): which one, 1 … 14; the set and its one
  /// or two locations by name; and the units u and u', by the events with which they begin. Of
  /// the rule `set-cycle`: the set, its locations that edges are at, and the units in the order of
  /// the cycle.
  std::uint8_t pattern = 0;
  std::string set;
  std::vector<std::string> locations;
  std::vector<EventNumber> units;
  /// Where nobody declared sets and units (check/units): "certain", "likely" or "possible"; and what
  /// connects the steps, as a sentence without its full stop.
  std::string_view tier;
  std::string connection;
  /// nondeterministic-read: the read, the write that it read and the one that it reads in
  /// `schedule`, which it ends; 0 is the initial value. unsettled-final-value: no read, the last
  /// write to `variable` and the one that is last in `schedule`, which has all events.
  EventNumber read = 0;
  EventNumber write = 0;
  EventNumber challenger = 0;
  std::vector<EventNumber> schedule;
  std::string variable;
  /// Every event named above, ascending by number, each once; of a schedule, those worth drawing.
  std::vector<Witness> witnesses;
  /// How many findings of the same sites this one stands for, itself included.
  std::uint64_t count = 1;
};

/// A line of --stats: how often a rule of the algorithm fired, or how large something grew.
struct Stat {
  std::string name;
  std::uint64_t value = 0;
};

struct CheckResult {
  std::string check;
  std::string engine;  // empty when the check has only one
  Verdict verdict = Verdict::kClean;
  std::vector<Finding> findings;  // grouped by sites unless Options::all
  bool complete = true;  // false: there may be violations that `findings` leaves out (see notes)
  bool idle = false;     // the trace has nothing that it judges: no such blocks
  std::vector<Stat> stats;
  std::vector<std::string> notes;     // what a reader must know beside the verdict
  std::vector<std::string> warnings;  // about the call: entries of the spec that match nothing
  double seconds = 0;                 // spent in this check alone
};

}  // namespace syndrome::check
