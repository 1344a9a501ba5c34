// Makes a trace that shows something as small as it gets, so that a person can see why.

#pragma once

#include <functional>
#include <span>

#include "check/samples/random_trace.h"

namespace syndrome::check {

/// Whether a trace still shows what is being looked for.
using Shows = std::function<bool(std::span<const Event>)>;

/// Requires shows(trace.events). Leaves out threads, runs of events, single events and pairs, and
/// merges variables and locks, as long as the trace stays well-formed and `shows` holds,
/// until nothing of that is possible any more. Names stay those of `trace`. Greedy: the result is
/// minimal under these steps, not the least there is.
[[nodiscard]] SmallTrace shrink(const SmallTrace& trace, const Shows& shows);

}  // namespace syndrome::check
