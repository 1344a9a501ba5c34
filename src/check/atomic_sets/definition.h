// Units of work as units.h defines them, followed the plain way: each access looks through the open
// functions and blocks of its thread. The oracle and the verifier go by this; UnitTracker must
// agree.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "check/atomic_sets/matcher.h"
#include "check/atomic_sets/sets.h"
#include "check/atomic_sets/units.h"
#include "event/event.h"
#include "event/names.h"

namespace syndrome::check::atomic_sets {

class UnitsByDefinition {
 public:
  explicit UnitsByDefinition(const UnitOptions& options)
      : span_threads_(options.span_threads),
        only_declared_(options.only_declared),
        sets_(options.sets, words_),
        units_(options.sets.spec, words_) {}

  /// An access to a location of a set, and whose it is.
  struct Assigned {
    Membership where;
    UnitName unit;
    Event first;         // what the function or block began with, as the …
    EventNumber at = 0;  // … event of this number; 0: the access is a unit by itself
  };
  /// The next event, well-formed. What an access is; nothing for other events, and for accesses
  /// that do not count. Good until the next call.
  [[nodiscard]] std::span<const Assigned> take(const Event& event, EventNumber number,
                                               const Names& names);

  /// Units that ended with the last event: the events with which they began.
  [[nodiscard]] std::span<const EventNumber> ended() const { return ended_; }

  [[nodiscard]] const SetRule& sets() const { return sets_; }

 private:
  struct Frame {
    EventNumber begin = 0;
    ThreadId thread;
    Event first;
    UnitLabel label;
    bool block = false;
    bool entry = false;               // what a thread begins with
    bool inherited = false;           // of the thread that forked this one
    std::set<std::uint32_t> self;     // the set of the object that it is called for; one at most
    std::set<std::uint32_t> owned;    // sets that have found their unit here, as declared …
    std::set<std::uint32_t> part;     // … and by default, since the last wait
    EventNumber part_begin = 0;       // 0: the next access
    std::vector<std::uint32_t> held;  // locks that were taken here
    std::set<std::uint32_t> rounds;   // sites: where, in this part
    std::set<std::uint32_t> places;   // and where it has been since then
    std::uint32_t anew = 0;           // where it has taken a lock, and held none before …
    std::set<std::uint32_t> before;   // … and the places it had come to by then
  };
  using Stack = std::vector<Frame>;  // outermost first
  struct GivenBack {
    std::uint32_t lock = 0;
    SiteId site;
    friend bool operator==(const GivenBack&, const GivenBack&) = default;
  };

  [[nodiscard]] Stack& stack(ThreadId thread);
  void access(const Event& event, EventNumber number, const Names& names);
  void enter(const Event& event, EventNumber number, const Names& names, bool block);
  void leave(Stack& stack, bool block);
  void end(const Frame& frame);
  void end_all(Stack& stack);
  void wait(Stack& stack);
  void hold(Frame& frame, std::uint32_t lock, SiteId place);
  void begin_round(Frame& frame);
  void come_to(Stack& stack, SiteId place);
  [[nodiscard]] Frame* owner(Stack& stack, std::uint32_t set);
  [[nodiscard]] bool is_declared(const Frame& frame, std::uint32_t set);
  [[nodiscard]] static bool is_behind_gap(const Stack& stack, const Frame& frame);
  [[nodiscard]] bool is_default(const Stack& stack, Frame& frame, std::uint32_t set);

  bool span_threads_;
  bool only_declared_;
  Words words_;
  SetRule sets_;
  UnitRule units_;
  std::vector<Stack> stacks_;
  std::map<ThreadId, GivenBack> given_back_;  // by threads whose last event was a release
  std::vector<Assigned> assigned_;
  std::vector<EventNumber> ended_;
};

}  // namespace syndrome::check::atomic_sets
