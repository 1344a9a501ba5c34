// All that speaks of atomic sets, compared with the oracle on random traces: the tracker and the
// matcher by the set of what they find and by the sets that have a cycle, the check by how much,
// the verifier by accepting it.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "check/atomic_sets/units.h"
#include "check/samples/random_trace.h"
#include "event/event.h"

namespace syndrome::check::atomic_sets {

/// A random trace in which variables have the names of fields, arrays and so on, and blocks are
/// blocks or functions of all sorts; and what sets and units there are.
struct Sample {
  SmallTrace trace;
  UnitOptions options;
};
[[nodiscard]] Sample random_sample(std::uint64_t seed);

/// In what something disagrees with the oracle on this trace, in words; empty if in nothing.
[[nodiscard]] std::string disagreement(std::span<const Event> events, const Names& names,
                                       const UnitOptions& options);

struct Tally {
  std::uint64_t violated = 0;
  std::uint64_t cycles_only = 0;                      // of these, without a pattern
  std::array<std::uint64_t, kPatternCount> traces{};  // with each pattern
};
/// The same on the samples of `count` seeds from `first`. The first disagreement, shrunk, or none.
[[nodiscard]] std::optional<std::string> first_disagreement(
    std::uint64_t first, std::uint64_t count, Tally* tally = nullptr,
    const std::function<void(std::uint64_t)>& progress = {});

}  // namespace syndrome::check::atomic_sets
