// A plan: which locks to put where, so that every pair of a profile that was atomic is so in every
// run, and nothing waits forever that did not before. A pure function of program and profile.
//
// 1. Variables with a pair to keep get a lock; variables that share a name in the source share it.
// 2. Each function that has such a pair, or accesses such a variable, gets a Placement (place.h).
// 3. The lock order of the whole program, with the program's own locks (order.h): cycles are broken
//    by taking locks of ours earlier.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "enforce/plan/place.h"
#include "enforce/plan/program.h"
#include "enforce/profile.h"
#include "event/result.h"

namespace syndrome::enforce {

struct PlannedLock {
  std::string name;                    // "P", "Account::balance"
  std::vector<std::string> variables;  // of the profile
  std::uint64_t read_pairs = 0;
  std::uint64_t exclusive_pairs = 0;
  bool dropped = false;  // its order with others could not be made free of cycles
  bool joined = false;   // into another one, which has its variables now
};

/// What one lock needs in one function.
struct PlannedPlace {
  std::uint32_t function = 0;  // in Program::functions
  std::uint32_t lock = 0;      // in Plan::locks
  Placement placement;
};

struct PlanFigures {
  std::uint64_t acquire_read = 0;
  std::uint64_t acquire_exclusive = 0;
  std::uint64_t degrade = 0;
  std::uint64_t release = 0;
};

struct Plan {
  /// Locks in the order in which they are taken at one place.
  std::vector<PlannedLock> locks;
  std::vector<PlannedPlace> places;   // by function, then lock
  std::vector<std::string> hoisted;   // in words: what against which cycle
  std::vector<std::string> given_up;  // in words: pairs that are not kept, and why
  std::vector<std::string> notes;
  PlanFigures before;  // deadlocks are resolved
  PlanFigures after;
};

struct PlanOptions {
  /// Plan for these variables only; empty: all.
  std::vector<std::string> only;
  /// More locks of ours than that in one cycle are many: each would be taken before each other
  /// somewhere, and so all of them nearly everywhere.
  std::size_t most_in_cycle = 8;
  /// Pairs of one lock in one function that are told apart. A loop may hold it for any of them, in
  /// 2 to the power of this number of ways, of which not many more than a dozen are followed.
  std::size_t most_apart = 8;
};

/// An error when the profile is not of this program: it names the functions that have changed.
[[nodiscard]] Result<Plan> make_plan(const Program& program, const Profile& profile,
                                     const PlanOptions& options = {});

[[nodiscard]] PlanFigures figures_of(const Plan& plan);

/// For the compiler pass; one operation on a line, each with its place and reason.
[[nodiscard]] std::string to_json(const Plan& plan, const Program& program);
/// For people: which lock, where, why, what was hoisted.
[[nodiscard]] std::string to_text(const Plan& plan, const Program& program);

}  // namespace syndrome::enforce
