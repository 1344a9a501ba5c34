// What the three engines have in common. An engine is an analysis (check/analysis.h) that decides,
// exactly and while the events pass, whether the trace is conflict serializable. It names the event
// at which it knew; which blocks violate, and the cycle of each, is the work of evidence.h in a
// second pass that clean traces do not need.

#pragma once

#include <concepts>
#include <vector>

#include "check/analysis.h"
#include "check/finding.h"

namespace syndrome::check {

/// Where an engine saw that no serial order exists.
struct Violation {
  EventNumber event = 0;  // 0: none so far
  ThreadId thread;        // of the block that the cycle came back to
};

template <class T>
concept AtomicityEngine =
    std::derived_from<T, EventHandlers> && requires(const T engine, T running, EventNumber last) {
      /// Some engines see a cycle only when a block ends: here they end those that are still open.
      running.finish(last);
      /// The first violation; events after it need not be shown to the engine any more.
      { engine.violation() } -> std::same_as<const Violation&>;
      /// How often each rule fired.
      { engine.stats() } -> std::same_as<std::vector<Stat>>;
    };

}  // namespace syndrome::check
