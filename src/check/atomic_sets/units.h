// Which unit of work an access belongs to: of the units that are open in its thread and declared on
// the access's set, the outermost one.
//
// Units for all sets:
//   blocks (begin … end); inner ones are part of the outermost anyway
//   functions and blocks that [units] of the spec names
//   `enter(unit)`: how a recording tells SYNDROME_UNIT()
// Units for some sets, by the set's name or by the class of its objects:
//   functions and blocks that [units.for] names
//   `enter(unit S1,Account)`: SYNDROME_UNIT(S1, Account)
// And by default, of the functions that are neither main, nor what a thread begins with, nor the
// library's, nor named by [units] exclude:
//   a member function, for the object that it is called for: the first of its class that is
//     accessed while it runs (the trace does not say what `this` is); constructors and assignments,
//     which may copy another object, for all objects of their class
//   a function that accesses an object itself (or through the library), from that access on; static
//     members are an object of their class
//
// A set that has found its unit stays with it until that is over. Whoever waits (for a condition,
// at a barrier, for a semaphore, a future or the end of a thread) lets others in and knows it: what
// a function did before is over by default, and what it does afterwards is another unit, which goes
// by its first access. A wait for a condition that timed out is one, too: a lock that is given back
// and taken again at one place, with nothing in between. So does a loop that takes its lock anew in
// each round: a function that comes to hold a lock at a place where it has come to hold one before
// (by itself, or by a function that returns with it) begins another unit. Declared units go on.
// What code without probes calls back does not belong to the default units of who called that code,
// which go on when it has returned.

#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "check/analysis.h"
#include "check/atomic_sets/matcher.h"
#include "check/atomic_sets/sets.h"
#include "event/mix_hash.h"
#include "event/names.h"
#include "spec/spec.h"

namespace syndrome::check::atomic_sets {

/// What a label says of the functions and blocks that have it.
/// Of a function that takes locks, how many of the places that it comes to are known again.
inline constexpr std::size_t kMostPlacesOfARound = 64;

struct UnitLabel {
  bool known = false;
  bool library = false;
  bool never = false;               // no unit by default
  bool annotation = false;          // of a unit, not a function
  bool called_back = false;         // by code without probes
  bool for_all = false;             // declared a unit for every set
  std::vector<std::uint32_t> sets;  // words: declared a unit for these
  std::uint32_t type = 0;           // word: the class of a member function; 0: none
  bool copies = false;              // a constructor or an assignment
  bool waits = false;               // for another thread's result: std::future::get
};

/// Decides about labels, each once.
class UnitRule {
 public:
  UnitRule(const spec::Spec* spec, Words& words);

  /// The reference is good until the next call.
  [[nodiscard]] const UnitLabel& of(std::uint32_t label, const Names& names) {
    if (label >= labels_.size() || !labels_[label].known) [[unlikely]]
      decide(label, names);
    return labels_[label];
  }

  /// Entries of the spec that no label of the trace matches.
  [[nodiscard]] std::vector<SetRule::Unmatched> unmatched(const Names& names);

 private:
  struct Tracked {
    std::string_view list;
    const spec::Entry* entry = nullptr;
    std::uint32_t set = 0;  // word; 0: all
    bool exclude = false;
    bool matched = false;
  };
  void decide(std::uint32_t label, const Names& names);

  Words* words_;
  std::vector<Tracked> entries_;
  std::vector<UnitLabel> labels_;
};

struct UnitOptions {
  SetRuleOptions sets;
  /// A thread goes on with the units in which it was forked.
  bool span_threads = false;
  /// On sets that nobody declared, only what is declared is a unit.
  bool only_declared = false;
};

/// Follows the functions and blocks of every thread, and tells a `Sink` (as Matcher is one) which
/// unit begins, makes which access, and ends.
template <class Sink>
class UnitTracker : public EventHandlers {
 public:
  using UnitId = std::uint32_t;

  /// `sink` outlives it.
  UnitTracker(const UnitOptions& options, Sink& sink)
      : sink_(&sink),
        span_threads_(options.span_threads),
        only_declared_(options.only_declared),
        sets_(options.sets, words_),
        units_(options.sets.spec, words_) {}

  /// Of the events that come next.
  void speak(const Names& names) { names_ = &names; }

  [[nodiscard]] const SetRule& sets() const { return sets_; }
  [[nodiscard]] UnitRule& units() { return units_; }
  [[nodiscard]] std::uint64_t accesses() const { return accesses_; }
  /// Functions and blocks that were open at these accesses, all added up.
  [[nodiscard]] std::uint64_t depth() const { return depth_; }

  void on_access(const Event& e, EventNumber n) {
    const SetRule::Sets sets = sets_.of(e.target, *names_);
    Thread& thread = of(e.thread);
    thread.given_back = {};
    come_to(thread, e.site);
    if (!sets.counts_atomics && (e.order != MemoryOrder::kPlain || e.kind == EventKind::kRmw)) {
      return;
    }
    ++accesses_;
    depth_ += thread.frames.size();
    for (const Membership& where : sets.in) {
      const UnitId unit = unit_of(thread, e.thread, where.set, n);
      if (unit == kAlone) {
        sink_->access_alone(e.thread, where, e.kind, {n, e.site});
      } else {
        sink_->access(unit, where, e.kind, {n, e.site});
      }
    }
  }
  /// Two steps, because where the set is comes from where the variable is: the second for an event
  /// that was announced a few events ago.
  void soon(const Event& e) {
    if (e.kind > EventKind::kRmw) return;
    sets_.soon(e.target);
    std::uint32_t& announced = announced_[next_announced_++ % announced_.size()];
    sink_->soon(sets_.likely_set(announced));
    announced = e.target;
  }
  void on_begin(const Event& e, EventNumber n) {
    Frame& frame = push(of(e.thread), e, n);
    frame.is_block = true;
    frame.for_all = true;
    frame.is_declared = true;
  }
  void on_end(const Event& e, EventNumber) { pop(of(e.thread), true); }
  void on_enter(const Event& e, EventNumber n) {
    Thread& thread = of(e.thread);
    come_to(thread, e.site);
    const UnitLabel& label = units_.of(e.target, *names_);
    const bool outermost = thread.own == 0;
    EventNumber begin = n;
    if (label.annotation && !thread.frames.empty()) {
      // An annotated function is told by itself first: that is what people know it by. What it may
      // be a unit for besides goes by its first access then.
      const Frame& function = thread.frames.back();
      const std::size_t around = thread.frames.size() > 1 && function.is_block ? 2 : 1;
      Frame& outer = thread.frames[thread.frames.size() - around];
      if (outer.is_function && outer.site == e.site && n - outer.begin <= 3 && !outer.parted &&
          outer.part == kAlone && !outer.for_all) {
        begin = outer.begin;
        outer.parted = true;
      }
    }
    Frame& frame = push(thread, e, begin);
    frame.for_all = label.for_all;
    frame.is_declared = label.for_all || !label.sets.empty();
    frame.never =
        label.never || label.library || label.annotation || (outermost && e.thread.value != 0);
    frame.is_function = !label.annotation;
    frame.is_own = frame.is_function && !label.library;
    frame.is_gap = label.called_back;
    frame.type = label.type;
    frame.copies = label.copies;
    frame.waits = label.waits;
    frame.label = e.target;
    if (frame.is_own) ++thread.own;
    if (frame.is_gap) thread.owners.emplace_back();
  }
  void on_exit(const Event& e, EventNumber) {
    if (pop(of(e.thread), false)) wait(of(e.thread));
  }
  void on_fork(const Event& e, EventNumber) {
    if (span_threads_) inherit(e.thread, e.child());
  }
  void on_cond_wait(const Event& e, EventNumber) { wait(of(e.thread)); }
  void on_barrier_leave(const Event& e, EventNumber) { wait(of(e.thread)); }
  void on_wait(const Event& e, EventNumber) { wait(of(e.thread)); }
  void on_acquire(const Event& e, EventNumber) {
    Thread& thread = of(e.thread);
    if (e.site.value != 0 && thread.given_back == GivenBack{e.target, e.site}) wait(thread);
    thread.given_back = {};
    if (!thread.frames.empty()) hold(thread, thread.frames.back(), e.target, e.site);
  }
  void on_acquire_shared(const Event& e, EventNumber n) { on_acquire(e, n); }
  void on_release(const Event& e, EventNumber) {
    Thread& thread = of(e.thread);
    thread.given_back = {e.target, e.site};
    for (std::size_t i = thread.frames.size(); i-- > 0;) {
      Frame& frame = thread.frames[i];
      if (std::erase(frame.held, e.target) == 0) continue;
      if (frame.held.empty()) frame.anew = {};
      return;
    }
  }
  void on_release_shared(const Event& e, EventNumber n) { on_release(e, n); }
  void on_join(const Event& e, EventNumber) {
    end_thread(of(e.child()));
    // What spans threads goes on with what they leave.
    if (!span_threads_) wait(of(e.thread));
  }
  void on_thread_stop(const Event& e, EventNumber) { end_thread(of(e.thread)); }

 private:
  static constexpr UnitId kAlone = std::numeric_limits<UnitId>::max();
  static constexpr std::size_t kMostPlaces = kMostPlacesOfARound;
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

  struct Frame {
    EventNumber begin = 0;
    SiteId site;
    std::uint32_t label = 0;
    std::uint32_t type = 0;        // word
    std::uint32_t self = kNobody;  // the set of the object that it is called for
    UnitId unit = kAlone;          // that it is declared to be, when it has had an access
    UnitId part = kAlone;          // that it is by default, since the last wait
    bool parted = false;           // there was another one before a wait
    bool is_block = false;
    bool is_function = false;
    bool is_own = false;                    // a function of the program
    bool for_all = false;                   // a unit for every set
    bool is_declared = false;               // a unit for some set, whatever it does
    bool never = false;                     // no unit by default
    bool inherited = false;                 // of the thread that forked this one
    bool copies = false;                    // UnitLabel::copies
    bool waits = false;                     // UnitLabel::waits
    bool is_gap = false;                    // code without probes
    std::uint32_t level = 0;                // in Thread::owners
    std::vector<std::uint32_t> held;        // locks that were taken here
    std::vector<SiteId> rounds;             // where, in this part
    std::vector<SiteId> places;             // where it has been since then, the first of them
    SiteId anew;                            // where it has taken a lock, and held none before …
    std::size_t before = 0;                 // … and how many of the places it had come to by then
    std::vector<std::uint32_t> owned;       // sets that have found their unit here …
    std::vector<std::uint32_t> part_owned;  // … and their part
  };
  /// A lock, and where it was given back.
  struct GivenBack {
    std::uint32_t lock = 0;
    SiteId site;
    friend bool operator==(const GivenBack&, const GivenBack&) = default;
  };
  /// Sets are numbered as they come: with the number as its own hash, those of a large array would
  /// be one cluster that every look for another one goes through (lz77: 87 s instead of 6).
  using Owners = tsl::robin_map<std::uint32_t, UnitId, MixHash>;
  struct Thread {
    std::vector<Frame> frames;  // outermost first
    std::size_t own = 0;        // frames that are the program's functions, not inherited
    GivenBack given_back;       // by the last event, when it was a release
    /// Of a set that has found it: before the first gap, behind it, …
    std::vector<Owners> owners = std::vector<Owners>(1);
  };

  Thread& of(ThreadId thread) {
    if (thread.index() >= threads_.size()) [[unlikely]]
      threads_.resize(thread.index() + 1);
    return threads_[thread.index()];
  }

  static Frame& push(Thread& thread, const Event& e, EventNumber n) {
    thread.given_back = {};
    Frame& frame = thread.frames.emplace_back();
    frame.begin = n;
    frame.site = e.site;
    frame.level = static_cast<std::uint32_t>(thread.owners.size() - 1);
    return frame;
  }

  /// What is declared goes on, and so does what is around it.
  void wait(Thread& thread) {
    std::size_t inside = thread.frames.size();
    while (inside > 0 && !thread.frames[inside - 1].is_declared) --inside;
    for (Frame& frame : std::span(thread.frames).subspan(inside)) {
      if (!frame.inherited && frame.part != kAlone) end_part(thread, frame);
    }
  }

  /// Ends the innermost block or function. What is not the innermost of all is one of two that
  /// overlap. Whether it was one that waits.
  bool pop(Thread& thread, bool block) {
    thread.given_back = {};
    std::size_t at = thread.frames.size();
    while (at > 0 && (thread.frames[at - 1].is_block != block || thread.frames[at - 1].inherited)) {
      --at;
    }
    if (at == 0) return false;
    Frame& frame = thread.frames[at - 1];
    const std::vector<std::uint32_t> held = std::move(frame.held);
    const SiteId place = block ? SiteId() : frame.site;
    const bool waits = frame.waits;
    remove(thread, at - 1);
    if (at < 2) return false;
    for (const std::uint32_t lock : held) hold(thread, thread.frames[at - 2], lock, place);
    return waits;
  }

  /// The frame's function holds the lock from here on, which it took at this place.
  void hold(Thread& thread, Frame& frame, std::uint32_t lock, SiteId place) {
    if (frame.inherited) return;
    const bool anew = frame.held.empty() && !frame.rounds.empty();
    frame.held.push_back(lock);
    if (place.value == 0) return;
    if (anew) frame.anew = place;
    if (anew) frame.before = frame.places.size();
    if (std::ranges::find(frame.rounds, place) != frame.rounds.end()) begin_round(thread, frame);
    frame.rounds.push_back(place);
  }
  void begin_round(Thread& thread, Frame& frame) {
    if (frame.part != kAlone) end_part(thread, frame);
    frame.rounds.clear();
    frame.places.clear();
    frame.anew = {};
  }

  /// The innermost function accesses something there, or calls a function.
  void come_to(Thread& thread, SiteId place) {
    if (thread.frames.empty()) return;
    Frame& frame = thread.frames.back();
    if (frame.rounds.empty() || !frame.is_own || frame.inherited || place.value == 0) return;
    const auto at = std::ranges::find(frame.places, place);
    const bool again = at != frame.places.end();
    const SiteId anew = frame.anew;
    if (anew.value != 0 && again &&
        static_cast<std::size_t>(at - frame.places.begin()) < frame.before) {
      begin_round(thread, frame);
      frame.rounds.push_back(anew);
    } else if (again || frame.places.size() == kMostPlaces) {
      return;
    }
    frame.places.push_back(place);
  }

  void remove(Thread& thread, std::size_t at) {
    Frame& frame = thread.frames[at];
    for (auto& owner : thread.owners) {
      for (const std::uint32_t set : frame.owned) owner.erase(set);
    }
    if (frame.unit != kAlone) release(frame.unit);
    if (frame.part != kAlone) end_part(thread, frame);
    if (frame.is_own && !frame.inherited) --thread.own;
    if (frame.is_gap) thread.owners.pop_back();
    thread.frames.erase(thread.frames.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void end_part(Thread& thread, Frame& frame) {
    for (const std::uint32_t set : frame.part_owned) thread.owners[frame.level].erase(set);
    frame.part_owned.clear();
    release(frame.part);
    frame.part = kAlone;
    frame.parted = true;
  }

  void end_thread(Thread& thread) {
    while (!thread.frames.empty()) remove(thread, thread.frames.size() - 1);
  }

  UnitId unit_of(Thread& thread, ThreadId id, std::uint32_t set, EventNumber n) {
    if (thread.frames.empty()) return kAlone;
    if (thread.frames.front().for_all) [[likely]]
      return open(thread.frames.front(), id);
    const auto known = thread.owners.back().find(set);
    if (known != thread.owners.back().end()) return known->second;
    // One that is declared was found before or behind a gap.
    for (const Frame& frame : thread.frames) {
      if (std::ranges::find(frame.owned, set) != frame.owned.end()) return frame.unit;
    }
    const Found found = find_unit(thread, set);
    if (found.frame == kNobody) return kAlone;
    Frame& frame = thread.frames[found.frame];
    (found.declared ? frame.owned : frame.part_owned).push_back(set);
    const UnitId unit = found.declared ? open(frame, id) : open_part(frame, id, n);
    thread.owners.back()[set] = unit;
    return unit;
  }

  struct Found {
    std::uint32_t frame = kNobody;
    bool declared = false;
  };
  Found find_unit(Thread& thread, std::uint32_t set) {
    std::size_t innermost = thread.frames.size();
    while (innermost > 0 && !thread.frames[innermost - 1].is_own) --innermost;
    for (std::size_t i = 0; i < thread.frames.size(); ++i) {
      Frame& frame = thread.frames[i];
      if (frame.for_all || (!frame.is_block && is_declared(frame, set))) {
        return {static_cast<std::uint32_t>(i), true};
      }
      if (frame.is_block || frame.never || !frame.is_own || !has_defaults(set) ||
          frame.level + 1 != thread.owners.size()) {
        continue;
      }
      const bool may_be = frame.self == kNobody || frame.self == set || frame.copies;
      const bool member = frame.type != 0 && may_be && sets_.has_class(set, frame.type);
      if (member) frame.self = set;
      if (member || i + 1 == innermost) return {static_cast<std::uint32_t>(i), false};
    }
    return {};
  }

  /// Whether functions are units on the set that nobody has declared to be.
  [[nodiscard]] bool has_defaults(std::uint32_t set) const {
    return !only_declared_ || sets_.is_declared(set);
  }

  bool is_declared(const Frame& frame, std::uint32_t set) {
    for (const std::uint32_t word : units_.of(frame.label, *names_).sets) {
      if (sets_.is_called(set, word)) return true;
    }
    return false;
  }

  UnitId open(Frame& frame, ThreadId thread) {
    if (frame.unit == kAlone) [[unlikely]]
      frame.unit = open({frame.begin, thread});
    return frame.unit;
  }
  UnitId open_part(Frame& frame, ThreadId thread, EventNumber n) {
    if (frame.part == kAlone) frame.part = open({frame.parted ? n : frame.begin, thread});
    return frame.part;
  }
  UnitId open(UnitName name) {
    const UnitId unit = sink_->open(name);
    if (unit >= users_.size()) users_.resize(unit + 1);
    users_[unit] = 1;
    return unit;
  }
  void release(UnitId unit) {
    if (--users_[unit] == 0) sink_->close(unit);
  }

  void inherit(ThreadId parent, ThreadId child) {
    Thread& heir = of(child);  // before a reference to the parent is taken
    Thread& thread = of(parent);
    if (!heir.frames.empty()) return;
    for (Frame& frame : thread.frames) {
      const bool declared = !frame.is_block && !units_.of(frame.label, *names_).sets.empty();
      const bool is_unit = frame.for_all || declared;
      if (!is_unit && frame.part == kAlone) continue;
      if (is_unit) ++users_[open(frame, parent)];
      if (frame.part != kAlone) ++users_[frame.part];
      Frame& copy = heir.frames.emplace_back(frame);
      copy.inherited = true;
      copy.never = true;
      copy.level = 0;
      for (const std::uint32_t set : copy.owned) {
        heir.owners.back().try_emplace(set, copy.unit);
      }
      for (const std::uint32_t set : copy.part_owned) {
        heir.owners.back().try_emplace(set, copy.part);
      }
    }
  }

  Sink* sink_;
  const Names* names_ = nullptr;
  bool span_threads_;
  bool only_declared_;
  Words words_;
  SetRule sets_;
  UnitRule units_;
  std::vector<Thread> threads_;
  std::uint64_t accesses_ = 0;
  std::uint64_t depth_ = 0;
  std::vector<std::uint32_t> users_;          // by unit: threads that are in it
  std::array<std::uint32_t, 6> announced_{};  // variables
  std::size_t next_announced_ = 0;
};

}  // namespace syndrome::check::atomic_sets
