// A finding of the rule in words.

#pragma once

#include <string>

#include "check/units/detector.h"
#include "event/names.h"

namespace syndrome::check::units {

/// What connects the steps, as a sentence without its full stop: "the value read at bank.cc:21 is
/// part of what bank.cc:26 writes".
[[nodiscard]] std::string connection_of(const Found& found, const Names& names);

/// The data by what it has in common with that of other objects and other runs.
[[nodiscard]] std::string data_of(const Found& found, const Names& names);

/// The object that has the locations, or the location.
[[nodiscard]] std::string set_of(const Found& found, const Names& names);

}  // namespace syndrome::check::units
