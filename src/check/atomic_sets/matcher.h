// Finds every pattern (patterns.h) as the accesses of units of work go by.
//
// A finding is a pattern with the two units and the locations that it was found for, each once. The
// paper runs 14 automata for each pair of units and each pair of locations. Their states come to
// this much:
//
//   of each unit and location   the first read and the first write, where a pattern can begin, and
//                               the last read and the last write
//   and more of both            the first one after each event at which another unit began
//                               something ("the first write by u' after u's first write")
//
// because a pattern is there if and only if it is there with the first event of its unit in its
// first place, the first possible one in its second place, and the last possible ones behind. What
// ends a pattern is the access in hand, so an access compares what it could end, and that is only
// with units of other threads that have been active in the set since the unit accessed that
// location in the same way before. A location that no other unit has accessed costs a look into a
// table.
//
// Beside the patterns it follows the conflict graph of each set (set_graph.h), which is the
// definition: a run is in order if and only if no set's graph has a cycle. A cycle that no pattern
// explains is given as a Cycle. Of each location the last writer and the readers since then are
// known: other edges only repeat what those imply.
//
// What is kept: for each set that a live unit has accessed a *window* with the units that have, and
// of those that are over the ones that a live one leads to in the graph. No others can be in a
// cycle that is still to come, and a pattern is a cycle of two.

#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "check/atomic_sets/set_graph.h"
#include "check/patterns.h"
#include "event/event.h"
#include "event/mix_hash.h"

namespace syndrome::check::atomic_sets {

/// A location in a set. A variable may be in several sets.
struct Membership {
  std::uint32_t set = 0;
  std::uint32_t location = 0;
  friend constexpr bool operator==(const Membership&, const Membership&) = default;
};

/// An event as a finding keeps it.
struct Access {
  EventNumber number = 0;  // 0: none
  SiteId site;
};

/// A unit of work: the event with which it begins; an access outside of units is one by itself.
struct UnitName {
  EventNumber begin = 0;
  ThreadId thread;
};

struct Match {
  std::uint8_t pattern = 0;
  UnitName unit;   // u
  UnitName other;  // u'
  std::uint32_t set = 0;
  std::uint32_t first = 0;         // l1
  std::uint32_t second = 0;        // l2; l1 again when the pattern has one location
  std::array<Access, 4> events{};  // in the order of the pattern
};

/// A cycle in the conflict graph of a set. Edge i leads from unit i to the next one, the last edge
/// to the first unit, with the access that closed the cycle.
struct Cycle {
  std::uint32_t set = 0;
  std::vector<UnitName> units;
  struct Edge {
    Access from;
    Access to;
    std::uint32_t location = 0;
  };
  std::vector<Edge> edges;
};

/// Numbers to positions: a scan while there are few, a table when there are many.
class SmallIndex {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] std::uint32_t find(std::uint32_t key) const {
    if (keys_.size() > kFew) [[unlikely]] {
      const auto at = table_.find(key);
      return at == table_.end() ? kNone : at->second;
    }
    for (std::uint32_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i] == key) return i;
    }
    return kNone;
  }
  /// At the next position. Requires that it is not there.
  void append(std::uint32_t key);
  void clear();
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  static constexpr std::size_t kFew = 16;
  std::vector<std::uint32_t> keys_;
  /// Used when there are more than kFew.
  tsl::robin_map<std::uint32_t, std::uint32_t, MixHash> table_;
};

/// What is known of a location in a set.
struct Touched {
  std::uint32_t units = 0;               // that have accessed it
  std::uint32_t writers = 0;             // that have written it
  EventNumber written = 0;               // last, …
  SetGraph::Known writer;                // … by this one
  SetGraph::Known reader;                // the first one since then
  std::vector<SetGraph::Known> readers;  // the others
};

class Matcher {
 public:
  using OnMatch = std::function<void(const Match&)>;
  using OnCycle = std::function<void(const Cycle&)>;
  /// A live unit.
  using UnitId = std::uint32_t;
  /// Of a unit in a set, that are paired with the location of an access: a unit that goes through a
  /// large array would otherwise cost its square.
  static constexpr std::size_t kMostLocations = 4096;

  /// Records that all searches for the shortest cycles together may look at: some seconds.
  static constexpr std::uint64_t kMostSearched = 100'000'000;

  /// `on_cycle` gets a shortest cycle for each edge that closes one, unless a pattern that was
  /// found for two of its neighbours explains it; none: nobody looks for them.
  explicit Matcher(OnMatch on_match, OnCycle on_cycle = {})
      : on_match_(std::move(on_match)), on_cycle_(std::move(on_cycle)) {}

  [[nodiscard]] UnitId open(UnitName name);
  void close(UnitId unit);

  /// An access of a live unit. Events come in the order of the trace.
  void access(UnitId unit, Membership where, EventKind kind, Access access);
  /// An access that belongs to no unit: a unit by itself.
  void access_alone(ThreadId thread, Membership where, EventKind kind, Access access);

  /// A hint that there will be an access to this set.
  void soon(std::uint32_t set) const {
    if (set < window_of_.size()) __builtin_prefetch(&window_of_[set]);
  }

  struct Counts {
    std::uint64_t units = 0;       // opened
    std::uint64_t alone = 0;       // accesses to sets that no other unit was in
    std::uint64_t unshared = 0;    // accesses to locations that no other unit had accessed
    std::uint64_t pairs = 0;       // of units that were compared
    std::uint64_t windows = 0;     // most at a time
    std::uint64_t held = 0;        // units in windows, most at a time
    std::uint64_t cut = 0;         // comparisons that left out locations beyond kMostLocations
    std::uint64_t cycles = 0;      // edges that closed a cycle
    std::uint64_t searched = 0;    // records that searches for cycles have looked at
    std::uint64_t unsearched = 0;  // cycles that were not searched for because of kMostSearched
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  static constexpr std::uint32_t kNone = SmallIndex::kNone;
  enum Way : std::uint8_t { kRead = 0, kWrite = 1 };

  /// What a unit has done to a location.
  struct Record {
    std::uint32_t location = 0;
    std::array<Access, 2> first{};  // by Way
    std::array<Access, 2> last{};
    /// Later ones, ascending: the first after each event at which another unit of the window began
    /// something, as far as it may still be asked for.
    std::array<std::vector<Access>, 2> later;
    std::array<std::uint64_t, 2> seen{};  // beginnings of others when `later` was last looked at
  };

  struct Found {
    std::uint32_t partner = 0;
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    std::uint8_t pattern = 0;
    bool is_unit = false;  // the one that keeps this is u
    friend bool operator==(const Found&, const Found&) = default;
  };
  struct FoundHash {
    std::size_t operator()(const Found& found) const noexcept;
  };

  /// A unit in a window.
  struct Participant : SetGraph::Node {
    UnitName name;
    std::uint32_t serial = 0;  // in its window
    bool live = false;
    Participant* older = nullptr;  // in the window, by the last access
    Participant* newer = nullptr;
    EventNumber begun = 0;  // its first access to the set
    EventNumber last = 0;   // its last one
    std::uint64_t beginnings = 0;
    SmallIndex index;  // of locations
    std::vector<Record> records;
    tsl::robin_set<Found, FoundHash> found;  // with those who were in the window before it
    std::vector<std::uint64_t> closed;       // ids: edges from these closed a cycle here

    [[nodiscard]] Record* find(std::uint32_t location) {
      const std::uint32_t at = index.find(location);
      return at == kNone ? nullptr : &records[at];
    }
    [[nodiscard]] const Record* find(std::uint32_t location) const {
      const std::uint32_t at = index.find(location);
      return at == kNone ? nullptr : &records[at];
    }
  };

  struct Window {
    Participant* newest = nullptr;  // by the last access
    std::size_t held = 0;
    std::uint32_t live = 0;
    std::uint32_t serials = 0;
    std::uint64_t beginnings = 0;  // first reads and first writes of all its units
    bool counted = false;          // whether `touched` is kept: from two units on
    tsl::robin_map<std::uint32_t, Touched, MixHash> touched;  // by location
    SetGraph graph;
  };

  struct Unit {
    UnitName name;
    SmallIndex sets;
    std::vector<Participant*> parts;  // by position in `sets`
    std::vector<std::uint32_t> of_set;
  };

  [[nodiscard]] Window& window_of(std::uint32_t set);
  [[nodiscard]] Window* known_window(std::uint32_t set) {
    if (set >= window_of_.size() || window_of_[set] == kNone) return nullptr;
    return &windows_[window_of_[set]];
  }
  Participant& join(Window& window, UnitName name, EventNumber now);
  void leave(std::uint32_t set, Window& window, Participant& part);
  void drop(Window& window, Participant& part);
  void release(std::uint32_t set, Window& window);
  static void link(Window& window, Participant& part);
  static void unlink(Window& window, Participant& part);
  void touch(Window& window, Participant& part, std::uint32_t set, std::uint32_t location,
             EventKind kind, Access now);
  void compare(Window& window, const Touched& touched, Participant& part, Membership where,
               Record* own, EventKind kind, Access now);
  void compare_with(Participant& acting, Participant& other, std::uint32_t set, Record* own,
                    Record& theirs, Way way, Access now);
  void compare_two(Participant& acting, Participant& other, std::uint32_t set, Record& theirs,
                   Record& own_other, Record& their_other, Way way, Access now);
  void record(Window& window, Participant& part, Record& record, Way way, Access now);
  void count_touched(Window& window);
  void follow(Window& window, Touched& touched, Participant& part, Membership where, EventKind kind,
              Access now, EventNumber read_before);
  void closes(Window& window, Participant& from, Participant& part, Membership where,
              EventKind kind, Access now);
  [[nodiscard]] static bool is_explained(const Participant& one, const Participant& two);
  [[nodiscard]] std::vector<Participant*> shortest(const Window& window, Participant& part,
                                                   std::uint32_t location, EventKind kind);
  [[nodiscard]] static std::optional<Cycle::Edge> edge_between(const Participant& from,
                                                               const Participant& to);
  static void prune(const Window& window, const Participant& part, std::vector<Access>& later);
  [[nodiscard]] static Access first_after(const Record& record, Way way, EventNumber time);
  void report(std::uint8_t pattern, Participant& unit, Participant& other, std::uint32_t set,
              std::uint32_t first, std::uint32_t second, std::array<Access, 4> events);

  OnMatch on_match_;
  OnCycle on_cycle_;
  std::vector<std::uint32_t> window_of_;  // by set; kNone: nobody is in it
  std::vector<Window> windows_;
  std::vector<std::uint32_t> free_windows_;
  std::vector<std::unique_ptr<Participant>> participants_;
  std::vector<Participant*> free_participants_;
  std::vector<SetGraph::Node*> forgotten_;  // of one call
  std::uint64_t ids_ = 0;
  EventNumber reported_ = 0;        // the access that the last pattern ended with, …
  std::uint32_t reported_set_ = 0;  // … and its set
  std::vector<Unit> units_;
  std::vector<UnitId> free_units_;
  std::uint64_t held_ = 0;
  Counts counts_;
};

}  // namespace syndrome::check::atomic_sets
