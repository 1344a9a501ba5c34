// The definition of predictive nondeterminism, run by brute force: every correct reordering of a
// trace (definition.h) is looked at. For traces of about twenty events.

#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "check/nondeterminism/definition.h"
#include "event/event.h"

namespace syndrome::check {

/// What other orders of a trace show; writes are 0 for the initial value.
struct Nondeterminism {
  /// (w, r, c): r read w, and some correct reordering that ends in r has c in it, after w or
  /// without w.
  std::set<std::tuple<EventNumber, EventNumber, EventNumber>> feasible;
  /// (w, r, c): r read w, and in some correct reordering that ends in r, it reads c.
  std::set<std::tuple<EventNumber, EventNumber, EventNumber>> seen;
  /// (w, c): w is the last write to its location, and c is in some complete reordering.
  std::set<std::pair<EventNumber, EventNumber>> unsettled;

  friend bool operator==(const Nondeterminism&, const Nondeterminism&) = default;
};

/// None when there are more than `most` different states on the way.
[[nodiscard]] std::optional<Nondeterminism> nondeterminism_oracle(
    std::span<const Event> events, std::size_t most, std::span<const Precedence> precedences = {});

}  // namespace syndrome::check
