// The events of a run without the accesses of calls that runtime/hold.h would leave out: what that
// does (event/calls.h), played in the order of the trace, for tests. Functions and synchronization
// stay.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "event/event.h"
#include "event/names.h"

namespace syndrome::check::atomic_sets {

/// `seed` draws when those that wait are looked at.
[[nodiscard]] std::vector<Event> held_events(std::span<const Event> events, const Names& names,
                                             std::uint64_t seed);

}  // namespace syndrome::check::atomic_sets
