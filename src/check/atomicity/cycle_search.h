// Which blocks of a strongly connected component violate atomicity, and a cycle for each.
//
// A block B violates when a simple cycle of the transaction graph leaves it at an event e1 and
// comes back at a later event e2. By that alone, a perfectly locked block that some other, broken
// block straddles would be blamed too (`Sense::kWide`). So we ask more (`Sense::kStrict`): the
// event g from which the cycle comes back must not already happen before e1. Then some equivalent
// order of the same events has g between e1 and e2: B really can be interrupted. Every cycle has at
// least one strict block. docs/atomicity.md has examples and the proof.
//
// Works on the events of one component only: all paths that matter stay inside of it.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "check/finding.h"
#include "event/event.h"

namespace syndrome::check {

/// An event of the component. Thread-order-only events need not be here, but every transaction has
/// at least one event, and a block's first one is its begin.
struct ComponentEvent {
  EventNumber number = 0;
  Event event;
  std::uint32_t transaction = 0;  // index into the component's transactions
  std::uint32_t round = 0;        // of a barrier event
};

struct ComponentTransaction {
  ThreadId thread;
  EventNumber first = 0;  // a block's begin
  EventNumber last = 0;
  bool block = false;
};

enum class Sense : std::uint8_t { kStrict, kWide };

struct Cycle {
  EventNumber block = 0;  // its begin
  std::vector<Edge> edges;
  Sense sense = Sense::kStrict;
  /// What this cycle has in common with others like it: the site of the block's begin, then those
  /// of both ends of each edge. Where the trace gives none, the event's number with the top bit.
  std::vector<std::uint64_t> sites;
};

class CycleSearch {
 public:
  /// `events` in trace order; an event that conflicts by thread and join alone may come later than
  /// its number says, but not after the join.
  CycleSearch(std::vector<ComponentEvent> events, std::vector<ComponentTransaction> transactions);
  ~CycleSearch();

  [[nodiscard]] std::size_t transactions() const;

  /// A minimal cycle that shows that the transaction violates: no transaction on it can be left
  /// out. None when it does not violate in that sense, or is not a block. `budget` counts down by
  /// the events looked at; when it is used up, the answer is none.
  [[nodiscard]] std::optional<Cycle> find(std::uint32_t transaction, Sense sense,
                                          std::uint64_t& budget);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syndrome::check
