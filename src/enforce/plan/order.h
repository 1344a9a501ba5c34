// The order in which a whole program takes its locks and ours, and the removal of its cycles
// (section 8 of the paper).
//
// A node of the graph is a lock; an edge k1 -> k2 says that somewhere k2 may be taken while k1 is
// held. Readers do not wait for each other, nor for those who wait to write (lock_runtime/ prefers
// readers for this reason): so a cycle is one only if at each lock of it the one who takes it or
// the one who holds it excludes the other. That holds for locks that are taken at one node as well,
// in the order of their ranks. A cycle with a lock of ours in it is broken by hoisting: k2 is taken
// before k1 already, wherever k1 is held on the way to k2, so that taking it there does not wait.
// Not an edge is that from a lock of the program to those of ours that are taken inside of a call
// which may wait (waiting.h): some servers hold one whenever they do not wait, and ours would have
// to be taken for as long as they run. Such a cycle is seen by lock_runtime/ when it is there.
// Locks of the program stay where they are; where hoisting does not help, one of ours is given up,
// until the order of what is really in the plan has no such cycle. Where many of ours are in one
// cycle, there is a choice (ManyLocks).

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "enforce/plan/plan.h"
#include "enforce/plan/program.h"

namespace syndrome::enforce {

/// What happens to many locks of ours that are in one cycle.
enum class ManyLocks : std::uint8_t {
  kJoin,    // they become one lock: little is added, but if its order is a cycle, all is lost
  kHoist,   // as with few
  kGiveUp,  // those that are in most of the edges, until few are left
};

/// Makes the order of all locks acyclic, as far as a lock of ours is in a cycle. Sets
/// Plan::hoisted and given_up; gives back the rank of each lock of ours: who is taken first where
/// several are taken at one node.
[[nodiscard]] std::vector<std::uint32_t> resolve_order(const Program& program,
                                                       const std::vector<Graph>& graphs,
                                                       const PlanOptions& options, ManyLocks many,
                                                       Plan& plan);

}  // namespace syndrome::enforce
