// The oracle of plans: every interleaving of a few threads that run small functions with the locks
// of a plan in them. In each of them every profiled pair must be atomic, and nobody may be stuck
// who would not be without the plan.
//
// The locks are a model of enforce/lock_runtime/ and of the code that instrument/enforce.cc makes:
// taking a lock may only wait, so what a hardened program does is always something that the
// original could do.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "enforce/plan/plan.h"
#include "enforce/plan/program.h"
#include "enforce/profile.h"

namespace syndrome::enforce {

struct Exploration {
  std::string wrong;  // what is broken, with the schedule that leads there; empty: nothing
  std::uint64_t states = 0;
  bool whole = true;  // false: more states than allowed
};

/// `threads`: which function each of them runs. Without a plan (`planned` false) the same program
/// as it was: to see that a profile says something that does not hold by itself.
[[nodiscard]] Exploration explore(const Program& program, const Profile& profile, const Plan& plan,
                                  const std::vector<std::uint32_t>& threads,
                                  std::uint64_t most_states, bool planned = true);

/// A small random program of structured code, with a profile that it may or may not keep by itself.
struct PlanSample {
  Program program;
  Profile profile;
  std::vector<std::uint32_t> threads;
};
[[nodiscard]] PlanSample random_plan_sample(std::uint64_t seed);

struct PlanTally {
  std::uint64_t samples = 0;
  std::uint64_t states = 0;
  std::uint64_t broken_before = 0;  // plans that were needed: without them a pair is torn apart
  std::uint64_t hoisted = 0;
  std::uint64_t given_up = 0;
  std::uint64_t unfinished = 0;
};

/// Plans and explores the samples of `count` seeds. The first that is wrong, in words; or nothing.
[[nodiscard]] std::string first_wrong_plan(std::uint64_t first, std::uint64_t count,
                                           PlanTally& tally);

}  // namespace syndrome::enforce
