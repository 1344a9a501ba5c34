// The definition of conflict serializability, run on a whole trace: slow and obvious.
//
// Everything that decides atomicity faster is compared with this one (differential.h). It keeps
// every pair of conflicting events, so it is meant for traces of a few hundred events.

#pragma once

#include <span>
#include <vector>

#include "event/event.h"

namespace syndrome::check {

struct OracleResult {
  bool serializable = true;

  /// The least n such that the first n events have no serial order; 0 when there is one for all.
  EventNumber first_violation = 0;

  // Blocks that violate, by the number of their begin, ascending; both empty iff serializable.
  //
  // wide: some simple cycle leaves the block at an event e1 and comes back to it at a later event
  // e2. The edges at the block itself are conflicts between two threads: thread order, being forked
  // and being joined never count there, since they enter a block only at its first event and leave
  // it only at its last.
  std::vector<EventNumber> wide;

  // strict: moreover, the event from which the cycle comes back does not happen before e1 anyway
  // (in the reflexive and transitive closure of conflicts, the paper's CHB). What happens before e1
  // and comes back after it is a block of another thread that straddles this one: a block which
  // holds its lock throughout is in `wide`, but not in `strict`, when another takes that lock
  // twice.
  //
  // Never empty when the trace violates: let e2 be the event at which the first cycle closes, g the
  // event that it closes from, and e1 where the cycle leaves the block of e2. If g happened before
  // e1, that path would have closed a cycle before e2.
  std::vector<EventNumber> strict;
};

/// `events` are well-formed, with their flags set; kDropped ones are ignored.
[[nodiscard]] OracleResult oracle(std::span<const Event> events);

}  // namespace syndrome::check
