// Everything that speaks of races, compared with the oracle: the clocks with the closure of
// happens-before, the detector with each variable's first race, the search with the racing pairs,
// the verifier with what is a race and what is not.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "event/event.h"

namespace syndrome::check {

/// In what something disagrees with the oracle on this trace, in words; empty if in nothing.
[[nodiscard]] std::string race_disagreement(std::span<const Event> events);

/// The same on the random traces of `count` seeds from `first`. Counts those with a race in `racy`
/// if given. The first disagreement comes back as a text that names the seed and ends in the shrunk
/// trace as STD. `progress` is called now and then with how many are done.
[[nodiscard]] std::optional<std::string> first_race_disagreement(
    std::uint64_t first, std::uint64_t count, std::uint64_t* racy = nullptr,
    const std::function<void(std::uint64_t)>& progress = {});

}  // namespace syndrome::check
