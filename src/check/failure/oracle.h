// What could explain a failure (failure.h), by definition: for each variable every read of the
// failed thread, nearest to the end first, with what stands before and after it in the trace.

#pragma once

#include <cstdint>
#include <span>

#include "check/failure/failure.h"

namespace syndrome::check {

[[nodiscard]] Failure explain_by_definition(std::span<const Event> events, const Names& names,
                                            std::uint32_t thread);

}  // namespace syndrome::check
