// When three accesses, or four, are a bug and not noise (docs/units.md).
//
// u is an activation of one thread, with two accesses e1 and e2 in different steps; v is another
// thread, which comes in between. The rule asks what connects e1 and e2: the program's text (flow),
// or a lock that u holds from the one to the other and v has not got.

#pragma once

#include <cstdint>
#include <string_view>

#include "check/units/flow_table.h"
#include "event/ids.h"

namespace syndrome::check::units {

enum class Tier : std::uint8_t { kNone, kPossible, kLikely, kCertain };

[[nodiscard]] constexpr std::string_view name_of(Tier tier) {
  switch (tier) {
    case Tier::kNone: return "";
    case Tier::kPossible: return "possible";
    case Tier::kLikely: return "likely";
    case Tier::kCertain: return "certain";
  }
  return "";
}

/// What connects e1 and e2.
enum class Link : std::uint8_t {
  kNone,
  kData,     // what e1 reads is what e2 writes or works with
  kHandle,   // the same, and it is a pointer
  kAddress,  // it is where e2 accesses
  kControl,  // it decides whether e2 happens
  kJoined,   // what both read is put together
  kSource,   // what both write comes from one source
  kReset,    // e2 sets back to a constant what e1 has read and v has added to
  kReread,   // e2 reads, for a decision, what e1 has updated
  kHold,     // u holds a lock from e1 to e2 that v has not got
  kOther,  // what v reads at the two is put together, or the first of them decides about the second
};

struct Judgement {
  Tier tier = Tier::kNone;
  Link link = Link::kNone;
};

/// The better founded one.
[[nodiscard]] constexpr Judgement better(Judgement a, Judgement b) {
  return b.tier > a.tier ? b : a;
}

/// e1, v, e2 at one location.
struct OneLocation {
  bool first_writes = false;
  bool second_writes = false;
  std::uint32_t how = 0;   // unit::FlowHow from the step of e1 to that of e2
  bool reaches = true;     // what e1 reads comes up to u's own step
  bool held = false;       // u holds a lock from e1 to e2 that v has not got
  bool atomic = false;     // one of the accesses is
  bool waited = false;     // u waited for another thread in between
  bool rechecked = false;  // e2's critical section reads the location again, and that decides e2
  bool served = false;     // e1 has decided about a write in its own critical section
  bool re_reads = false;   // e2 reads, and what it reads decides about something
  bool whole = false;      // the step of e1 has written the location as well
  bool updates = false;    // e2 writes what it has just read, changed: what v wrote is not lost
  bool added = false;      // v has read the location when it writes it, in one step or section
};
[[nodiscard]] Judgement judge(const OneLocation& candidate);

/// e1 at one location, e2 at another, both reads or both writes; v accesses both, in one activation
/// or critical section.
struct TwoLocations {
  bool writes = false;    // e1 and e2 do
  std::uint32_t how = 0;  // between their steps
  bool own = false;       // u makes both accesses itself
  bool re_reads = false;  // what e2 reads decides about something
  bool reaches = true;
  bool same_object = false;  // u or v works on an object that has both
  bool held = false;
  bool atomic = false;
  bool both_atomic = false;  // home-made synchronization, mostly
  bool compared = false;     // a compare-and-swap behind them notices
  bool waited = false;
  bool other_writes = false;   // v does
  bool other_section = false;  // in one critical section
  bool other_own = false;      // one activation of v makes both accesses itself
  bool other_source = false;   // and what it writes comes from one source
  bool other_joins = false;    // v joins what it reads
  bool other_follows = false;  // v reads e1's location first, and that decides about e2's, or where
                               // that is
};
[[nodiscard]] Judgement judge(const TwoLocations& candidate);

/// e1 reads one location, e2 accesses another; v writes the first and comes to the second, in one
/// critical section, in between, and e2 or that one writes. None of the 14 patterns: a cycle of two
/// units.
struct CheckThenAct {
  std::uint32_t how = 0;
  bool writes = false;  // e2 does
  bool reaches = true;
  bool same_object = false;
  bool rechecked = false;  // e2's critical section reads what others have written since, and that
                           // decides about e2
};
[[nodiscard]] Judgement judge(const CheckThenAct& candidate);

}  // namespace syndrome::check::units
