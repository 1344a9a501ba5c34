// What memory orders beyond its accesses. A thread cannot use memory that another thread allocates
// later; where nothing that the trace shows brought the address to it, something did that the trace
// does not show: code without probes, a library, a pipe.
//
// Of each allocation, the thread with the first access made it. The first access of another thread
// to it is *explained* when a chain of what has to stay as it was (program order, reads and the
// writes that they read, forks and joins, annotated order, barriers) leads there from that first
// access. Locks and signals are no such chain: they may come in another order. What is not
// explained comes after all that the maker had done before it in the trace: the address had been
// handed over by then, and nobody knows when.
//
// With that, no reordering uses memory that is not there yet. Each precedence goes forwards in the
// trace, so the trace itself stays a correct reordering.

#pragma once

#include <span>
#include <vector>

#include "event/event.h"
#include "event/layout.h"

namespace syndrome::check {

/// In every correct reordering that has `after`, `before` is there and earlier.
struct Precedence {
  EventNumber before = 0;
  EventNumber after = 0;
  friend bool operator==(const Precedence&, const Precedence&) = default;
};

/// Of a well-formed trace with its flags set, by `after`. None where the layout has no allocations.
[[nodiscard]] std::vector<Precedence> published(std::span<const Event> events,
                                                const Layout& layout);

}  // namespace syndrome::check
