// What a function can be to units of work, by its name alone: for who leaves out of a recording
// what is in nobody's way (trace/capture_sweep.h).

#pragma once

#include <string_view>

#include "trace/capture_reader.h"

namespace syndrome::check::atomic_sets {

/// What UnitRule makes of it when no spec declares anything, or more.
[[nodiscard]] trace::UnitRole role_of(std::string_view name);

}  // namespace syndrome::check::atomic_sets
