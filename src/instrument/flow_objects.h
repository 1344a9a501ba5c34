// The objects that a function works on: what `this` and parameters point to, where that is a class
// or struct whose size is known.

#pragma once

#include <vector>

#include "instrument/flow.h"

namespace syndrome::instrument {

/// At most this many of one function; each is a word in each call.
inline constexpr std::size_t kMostObjects = 8;

[[nodiscard]] std::vector<FlowObject> objects_of(const llvm::Function& function, FlowFacts& facts);

}  // namespace syndrome::instrument
