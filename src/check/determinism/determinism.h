// The check `determinism`: what is in a deterministic block gives the same result under every
// schedule (SingleTrack; Sadowski, Freund and Flanagan, ESOP 2009).
//
// Two properties: the threads of a block do not conflict with each other (conflicts.h), and no one
// outside interferes with them (flatten.h, and crossings.h for blocks in blocks). A first pass
// decides, with a race detector as a filter: data that is free of races is ordered by
// synchronization, which is looked at anyway. Only a trace in which something is wrong is read
// again, in full, for what there is to report; and once more by the verifier.

#pragma once

#include <memory>

#include "check/check.h"

namespace syndrome::check {

[[nodiscard]] std::unique_ptr<Check> make_determinism(const Options& options);

}  // namespace syndrome::check
