// Which blocks of a strongly connected component violate atomicity, and a cycle for each.
//
// A block B violates when a simple cycle of the transaction graph leaves it at an event e1 and
// comes back at a later event e2. By that alone, a perfectly locked block that some other, broken
// block straddles would be blamed too (`Sense::kWide`). So we ask more (`Sense::kStrict`): the
// event g from which the cycle comes back must not already happen before e1. Then some equivalent
// order of the same events has g between e1 and e2: B really can be interrupted. Every cycle has at
// least one strict block. docs/atomicity.md has examples and the proof.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "check/atomicity/component.h"
#include "check/finding.h"
#include "event/event.h"

namespace syndrome::check {

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
  /// `lines`: threads are lines (check/determinism/flatten.h), so that of a block only the begin is
  /// known to be an event of the thread whose order it is in.
  explicit CycleSearch(const Component& component, bool lines = false);

  /// A cycle that shows that the transaction violates, shortened by every direct conflict between
  /// two of its transactions (unless both are very long). None when it does not violate in that
  /// sense, or is not a block. `budget` counts down by the events looked at; when it is used up,
  /// the answer is none.
  [[nodiscard]] std::optional<Cycle> find(Component::TransactionIndex transaction, Sense sense,
                                          std::uint64_t& budget);

 private:
  using EventIndex = Component::EventIndex;
  using TransactionIndex = Component::TransactionIndex;
  static constexpr std::uint32_t kNone = ~0U;

  /// A conflict between two transactions.
  struct Hop {
    EventIndex from = kNone;
    EventIndex to = kNone;
  };
  /// The way back into the block from one transaction: by `hop`, which counts until `bound`: only a
  /// cycle that left before that number comes back later.
  struct WayBack {
    std::uint32_t search = 0;
    Hop hop;
    EventNumber bound = 0;
  };
  /// How a transaction was reached: by `hop`, on a path that left the block at event `left`.
  struct Label {
    std::uint32_t search = 0;
    EventNumber left = 0;
    Hop hop;
  };

  /// An event of the transaction that all the thread does later comes after.
  [[nodiscard]] EventIndex in_thread_order(TransactionIndex t) const {
    const std::span<const EventIndex> events = component_.events_of(t);
    return lines_ && component_.transaction(t).block ? events.front() : events.back();
  }
  [[nodiscard]] EventNumber bound(Hop back, TransactionIndex block, Sense sense) const;
  void find_ways_back(TransactionIndex block, Sense sense, std::uint64_t& budget);
  template <class Relax>
  void leave(TransactionIndex block, std::uint64_t& budget, Relax relax) const;
  template <class Relax>
  void expand(TransactionIndex t, EventNumber left, TransactionIndex block, std::uint64_t& budget,
              Relax relax);
  template <class Accept>
  [[nodiscard]] Hop direct(TransactionIndex a, TransactionIndex b, Accept accept) const;
  [[nodiscard]] Cycle minimal(TransactionIndex block, TransactionIndex last, Sense sense) const;

  const Component& component_;
  bool lines_;
  // Of the search with this number; entries of earlier ones are void.
  std::uint32_t search_ = 0;
  std::vector<Label> label_;   // by transaction
  std::vector<WayBack> back_;  // by transaction
  EventNumber latest_bound_ = 0;
  Component::Visited visited_;
};

}  // namespace syndrome::check
