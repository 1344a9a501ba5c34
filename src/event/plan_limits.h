// What the planner, the pass of a hardened build and the lock runtime must agree on. Depends on
// nothing: the last of them is in other people's programs.

#pragma once

#include <cstdint>

namespace syndrome {

/// Locks of a plan have numbers below this: the lock runtime has room for so many.
inline constexpr std::uint32_t kMostPlanLocks = 512;

}  // namespace syndrome
