// The check `atomicity`: is the trace conflict serializable, and if not, which blocks violate it?
//
// First pass: an engine decides. Only when it says no: a second pass finds every violating block
// with a cycle (evidence.h), and a third one verifies each cycle (verify.h).

#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "check/check.h"

namespace syndrome::check {

/// The names that Options::engine may have, the default one first.
[[nodiscard]] const std::vector<std::string_view>& atomicity_engines();

/// Options::engine is empty or one of atomicity_engines().
[[nodiscard]] std::unique_ptr<Check> make_atomicity(const Options& options);

}  // namespace syndrome::check
