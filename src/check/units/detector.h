// Finds, while the events pass, accesses of one activation that another thread has come in between,
// and that something connects (rule.h).
//
// Of each location it keeps the last access of each thread by each way there (context, step, kind).
// That is enough: e1 is the last execution of its step before e2, and if an access of v was between
// e1 and e2, the last one by the same way was as well. Of a thread it keeps the last kRecent
// accesses, for pairs of locations.

#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "check/units/activations.h"
#include "check/units/flow_table.h"
#include "check/units/rule.h"
#include "event/event.h"
#include "event/mix_hash.h"
#include "event/names.h"

namespace syndrome::check::units {

/// What is kept of an access.
struct Access {
  EventNumber number = 0;
  ThreadId thread;
  SiteId step;  // of the innermost activation
  ContextId context = 0;
  std::uint32_t epoch = 0;
  std::uint32_t waits = 0;
  std::uint32_t locks = 0;  // Detector::locks_: which are held
  EventNumber hold = 0;     // since when the first of them is; 0: none is
  /// The innermost activations, by their begins; 0: no more.
  std::array<EventNumber, 3> in{};
  ObjectId object;  // that the innermost of them works on which works on any
  bool has_object = false;
  bool write = false;
  bool atomic = false;
  bool rmw = false;     // both at once: what it read cannot be stale when it writes
  bool served = false;  // a read that has decided about a write in its own critical section
};

/// A violation that was seen, or several at the same steps: then the first.
struct Found {
  Judgement judgement;
  std::uint8_t pattern = 0;             // 0: none of them, a cycle of two units
  std::array<EventNumber, 4> events{};  // in the order of the pattern; of a cycle, its two edges
  VarId first;                          // its locations
  VarId second;
  LabelId function;       // of u
  EventNumber unit = 0;   // u
  EventNumber other = 0;  // v's activation, or v's access when it is in none
  bool swapped = false;   // the pattern begins with v
  SiteId from;            // the steps of u
  SiteId to;
  LockId lock;      // of Link::kHold
  ObjectId object;  // that has both locations
  bool has_object = false;
  std::uint64_t count = 1;
};

class Detector {
 public:
  void take(const Batch& batch, const Names& names);

  [[nodiscard]] const std::vector<Found>& found() const { return found_; }

  struct Counts {
    std::uint64_t accesses = 0;
    std::uint64_t candidates = 0;  // e1, v, e2 that were judged
    std::uint64_t contexts = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  /// More ways to one location than code has that people read; the oldest goes then.
  static constexpr std::size_t kMostWays = 48;
  static constexpr std::size_t kRecent = 24;
  static constexpr std::size_t kSections = 64;
  static constexpr std::size_t kMostWritten = 48;  // of a section

  struct Location {
    std::vector<Access> ways;
    ThreadId last_thread;
    EventNumber last = 0;   // its last access
    EventNumber other = 0;  // the last one of another thread before that
    /// The last access of another thread than this one.
    [[nodiscard]] EventNumber foreign(ThreadId thread) const {
      return last != 0 && last_thread == thread ? other : last;
    }
  };
  struct Recent {
    VarId variable;
    Access access;
  };
  /// What was written while a lock was held, as far as it is room for.
  struct Section {
    EventNumber hold = 0;
    std::vector<VarId> written;
  };
  struct Thread {
    std::array<Recent, kRecent> recent{};
    std::array<Section, kSections> sections;  // a ring, by order
    std::size_t section = 0;                  // the last one
    // Of each context, the step that its last access was in; of each context and step, the first
    // access of its last run.
    tsl::robin_map<ContextId, SiteId> last_step;
    tsl::robin_map<std::uint64_t, EventNumber, MixHash> run;
    ContextId context = 0;  // of the last access, with its step
    SiteId step;
    std::uint32_t locks = 0;
  };
  /// What is fixed while one access is looked at.
  struct Now {
    const Names* names = nullptr;
    VarId variable;
    Access access;
    std::span<const Activation> open;
  };

  void access(const Event& event, EventNumber number, const Names& names);
  void look_at_one(const Now& now, const Location& location, const Thread& thread);
  void look_at_pairs(const Now& now, const Location& location, const Thread& thread);
  void look_at_pair(const Now& now, const Location& location, const Recent& recent,
                    const Thread& thread);
  void look_at_checks(const Now& now, const Location& location, const Thread& thread);
  /// Whether something was found.
  bool look_at_check(const Now& now, VarId variable, const Access& first, const Access& x,
                     const Access& y, const Thread& thread);
  void keep(Location& location, const Access& access);
  /// What a write means to the reads before it in its critical section.
  void serve(const Now& now, Thread& thread);
  static void keep_written(Thread& thread, VarId variable, const Access& access);
  void keep_recent(Thread& thread, VarId variable, const Access& access);
  [[nodiscard]] std::uint32_t locks_of(ThreadId thread);
  [[nodiscard]] bool has_lock(const Access& access, LockId lock) const;

  /// The innermost of the open activations that has the access; null: none.
  [[nodiscard]] static const Activation* around(const Now& now, const Access& access);
  /// The step of the activation that an access inside of it belongs to.
  [[nodiscard]] SiteId step_in(const Activation& activation, const Access& access) const;
  /// Whether what was read there comes up to the activation's own step.
  [[nodiscard]] bool reaches(const Activation& activation, const Access& access) const;
  /// A lock that the thread has held since before the access, and the other one did not hold.
  [[nodiscard]] const Hold* held_against(const Access& first, const Access& other) const;
  [[nodiscard]] bool is_rechecked(const Now& now, const Location& location, SiteId from,
                                  const Access& first, const Access& other) const;
  /// Whether the write reads fresh, in its critical section, what decides about it.
  [[nodiscard]] bool looks_again(const Now& now, const Access& first, const Thread& thread) const;
  /// An object with both locations that the activation works on, or a global variable.
  [[nodiscard]] bool in_one_object(const Now& now, const Activation& unit, VarId other,
                                   Found& found) const;
  /// Likewise of the other thread's activation.
  static bool in_object_of(const Access& access, VarId one, VarId other, const Layout& layout);
  /// What connects two accesses of the other thread in an activation that they have in common.
  struct Common {
    EventNumber activation = 0;  // 0: none is known
    std::uint32_t how = 0;       // from the first to the second; back, what has no direction
    bool own = false;
  };
  [[nodiscard]] Common common(const Access& x, const Access& y) const;
  /// Whether the step has come to the location in this activation.
  [[nodiscard]] bool has_come(const Activation& unit, SiteId step, ThreadId thread, bool write,
                              const Location& location) const;
  /// Begins another run of each step that the access is in, unless it goes on with the last one.
  void follow_runs(Thread& thread, const Now& now);
  /// Whether the step of `first` has run again since, after another one: that was another round.
  [[nodiscard]] static bool in_earlier_round(const Activation& unit, SiteId step,
                                             const Access& first, const Thread& thread);
  /// Whether an argument of the activation's call can reach the access: where or whether it
  /// happens.
  [[nodiscard]] bool is_steered(const Activation& unit, const Access& access) const;
  void report(Found found);

  Activations activations_;
  FlowTable flow_;
  std::vector<Location> locations_;
  std::vector<Thread> threads_;
  std::vector<std::vector<LockId>> locks_{{}};
  std::map<std::vector<LockId>, std::uint32_t> lock_sets_{{{}, 0}};
  std::vector<Found> found_;
  tsl::robin_map<std::uint64_t, std::size_t, MixHash> groups_;  // into found_
  Counts counts_;
};

}  // namespace syndrome::check::units
