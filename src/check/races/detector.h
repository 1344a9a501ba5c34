// Data races, while a trace passes: which variables have one, and where the first is noticed.
//
// Two accesses race when they are of different threads and access one variable, at least one of
// them writes, at least one is not atomic, and neither happens before the other
// (happens_before.h).
//
// After FastTrack (Flanagan and Freund, 2009). Of all accesses of one class (plain or atomic, read
// or write) only the last ones matter that are not before another of the class: mostly one, an
// epoch; where reads of several threads are unordered, one for each slot. A plain write that races
// with nothing stands for everything before it. What is dropped by that could only race with an
// access that races with what stands for it, too. Hence, for each variable: access() says "race"
// for the first access that races with an earlier one, and for no access of a variable without
// races. After its first race a variable is not looked at any more (racing_pairs.h does that).
//
// Uses: the check `races` (first pass), and the check `determinism` as a filter.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

#include "check/races/happens_before.h"

namespace syndrome::check {

/// Two accesses of one variable, `earlier` before `later` in the trace, that race.
struct Race {
  EventNumber earlier = 0;
  EventNumber later = 0;
  friend auto operator<=>(const Race&, const Race&) = default;
};

/// To use it, hand it every event of a trace (check/analysis.h); or every event that is no access,
/// and every access to access().
class RaceDetector : public HappensBefore {
 public:
  /// Takes an access. The number of an earlier access that it races with, if it is the first of its
  /// variable that races; otherwise 0.
  EventNumber access(const Event& e, EventNumber n) {
    begin_access(e, n);
    const EventNumber earlier = look(e, n);
    end_access(e, n);
    if (earlier != 0) [[unlikely]]
      add(e, {earlier, n});
    return earlier;
  }
  void on_access(const Event& e, EventNumber n) { access(e, n); }
  void on_alloc(const Event& e, EventNumber n) {
    HappensBefore::on_alloc(e, n);
    renew(e.target);
  }
  void on_free(const Event& e, EventNumber n) {
    HappensBefore::on_free(e, n);
    renew(e.target);
  }
  void soon(const Event& e) {
    if (e.kind <= EventKind::kRmw && e.target < variables_.size()) {
      __builtin_prefetch(&variables_[e.target]);
    }
  }

  /// The first race of each variable that has one, in the order in which they were noticed.
  [[nodiscard]] const std::vector<Race>& first_races() const { return first_races_; }
  /// Whether a race on this variable was noticed, in any of its lives (alloc, free).
  [[nodiscard]] bool racy(VarId variable) const {
    return variable.index() < racy_.size() && racy_[variable.index()];
  }
  /// No variable from this id on has been accessed.
  [[nodiscard]] std::size_t variables() const { return variables_.size(); }
  /// Variables with a race.
  [[nodiscard]] std::size_t racy_variables() const { return racy_variables_; }

  struct Counts {
    std::uint64_t same_epoch = 0;    // accesses that say nothing new
    std::uint64_t many_readers = 0;  // times that an epoch became one for each slot
    std::uint64_t atomic_variables = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  /// None (0), one access (slot and number), or an index into many_ (kMany).
  using Epoch = std::uint64_t;
  static constexpr unsigned kNumberBits = 48;  // 2^48 events: a file of hundreds of terabytes
  static constexpr Epoch kNumberMask = (Epoch{1} << kNumberBits) - 1;
  static constexpr Epoch kMany = Epoch{1} << 63U;
  static_assert(kMaxSlots <= std::size_t{1} << 14U);

  struct Variable {
    Epoch read = 0;  // plain ones
    /// The last plain write. Its bit kMany says that there have been atomic accesses (atomics_).
    /// All ones: has a race.
    Epoch write = 0;
  };
  static constexpr Epoch kRacy = ~Epoch{0};
  struct Atomics {
    Epoch reads = 0;
    Epoch writes = 0;
  };

  [[nodiscard]] static std::size_t slot(Epoch epoch) { return epoch >> kNumberBits; }
  [[nodiscard]] static EventNumber number(Epoch epoch) { return epoch & kNumberMask; }
  [[nodiscard]] static Epoch epoch(std::size_t slot, EventNumber number) {
    return Epoch{slot} << kNumberBits | number;
  }

  /// What access() says; begin_access() has been called.
  [[nodiscard]] EventNumber look(const Event& e, EventNumber n) {
    if (e.target >= variables_.size()) [[unlikely]]
      grow(e.target);
    Variable& variable = variables_[e.target];
    const clock::VectorClock& clock = clock_of(e.thread);
    const std::size_t own = slot_of(e.thread);
    const EventNumber begin = epoch_begin(e.thread);
    // The fast path is a filter: everything behind it is right without it.
    const Epoch seen = e.kind == EventKind::kRead ? variable.read : variable.write;
    if (e.order == MemoryOrder::kPlain && e.kind != EventKind::kRmw && slot(seen) == own &&
        number(seen) > begin) {
      ++counts_.same_epoch;
      return 0;
    }
    return is_atomic(e) ? look_atomic(e, n, variable, clock, own)
                        : look_plain(e, n, variable, clock, own);
  }
  [[nodiscard]] EventNumber look_plain(const Event& e, EventNumber n, Variable& variable,
                                       const clock::VectorClock& clock, std::size_t own);
  [[nodiscard]] EventNumber look_atomic(const Event& e, EventNumber n, Variable& variable,
                                        const clock::VectorClock& clock, std::size_t own);

  /// Some access of the class that does not happen before; 0 when all do.
  [[nodiscard]] EventNumber unordered(Epoch accesses, const clock::VectorClock& clock) const;
  /// Adds an access to its class.
  void include(Epoch& accesses, const clock::VectorClock& clock, std::size_t own, EventNumber n);
  void clear(Epoch& accesses);
  void grow(std::size_t variable);
  void renew(std::uint32_t variable);
  void add(const Event& e, Race race);

  std::vector<Variable> variables_;
  tsl::robin_map<std::uint32_t, Atomics> atomics_;
  std::vector<std::vector<EventNumber>> many_;  // by slot: its last access of the class
  std::vector<std::uint64_t> free_many_;
  std::vector<bool> racy_;
  std::size_t racy_variables_ = 0;
  std::vector<Race> first_races_;
  Counts counts_;
};

}  // namespace syndrome::check
