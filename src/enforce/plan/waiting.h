// Calls in which a thread may wait for something else than a lock, or sleep.
//
// A loop with such a call is how a thread works through rounds: a server's main loop, a worker that
// takes jobs from a queue, maintenance that sleeps in between. What runs have shown to be atomic
// from one round to the next over such a call is no operation of the program, but the time in which
// nobody else happened to come. And where a thread waits, lock_runtime/ sets its locks aside: a
// pair over a call that surely does so would only be one more order of locks. place.h ends such
// pairs at the call.

#pragma once

#include <cstdint>
#include <vector>

#include "enforce/plan/graph.h"
#include "enforce/plan/program.h"
#include "enforce/plan/program_locks.h"

namespace syndrome::enforce {

/// By function and node. A call of a function of the program counts by what that function calls;
/// one through a pointer does not, because it may lead to too many.
[[nodiscard]] std::vector<std::vector<Waits>> waiting_calls(const Program& program,
                                                            const CallGraph& calls);

}  // namespace syndrome::enforce
