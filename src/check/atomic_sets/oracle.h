// The definition of atomic-set serializability, run on the whole of a small trace. Of each set, the
// whole conflict graph: units of work and every edge from an access to a later one that conflicts
// with it; and whether it has a cycle. And the patterns: every pattern, every pair of units of
// different threads, every location or pair of locations of a set that both have accessed; a
// pattern is there when its events are a subsequence of theirs.

#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <span>

#include "check/atomic_sets/matcher.h"
#include "check/atomic_sets/units.h"
#include "event/event.h"
#include "event/names.h"

namespace syndrome::check::atomic_sets {

/// What makes a finding that finding.
struct Violation {
  std::uint32_t set = 0;
  std::uint8_t pattern = 0;
  EventNumber unit = 0;   // u, by its begin
  EventNumber other = 0;  // u'
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  friend auto operator<=>(const Violation&, const Violation&) = default;
};
[[nodiscard]] inline Violation violation_of(const Match& match) {
  return {match.set, match.pattern, match.unit.begin, match.other.begin, match.first, match.second};
}

[[nodiscard]] std::set<Violation> oracle(std::span<const Event> events, const Names& names,
                                         const UnitOptions& options);

/// The sets whose conflict graph has a cycle.
[[nodiscard]] std::set<std::uint32_t> unserializable_sets(std::span<const Event> events,
                                                          const Names& names,
                                                          const UnitOptions& options);

}  // namespace syndrome::check::atomic_sets
