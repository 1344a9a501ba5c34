// What a default run says of a program whose data and operations nobody has declared: which
// operations were interrupted although the program's text, or its own locks, connect their steps
// (docs/units.md).

#pragma once

#include <memory>

#include "check/check.h"

namespace syndrome::check {

[[nodiscard]] std::unique_ptr<Check> make_units(const Options& options);

}  // namespace syndrome::check
