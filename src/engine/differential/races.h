// The races that the engine reports, compared with the definition (check/races/oracle.h) on random
// traces. It may miss some, as its cells are small; it may report none that is none.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "event/event.h"

namespace syndrome::engine {

struct RaceShares {
  std::uint64_t racy = 0;   // lives of variables with a race
  std::uint64_t found = 0;  // of them
  /// Likewise of variables of which several share a cell.
  std::uint64_t racy_in_shared = 0;
  std::uint64_t found_in_shared = 0;
  std::uint64_t traces = 0;
  std::uint64_t resets = 0;
  std::uint64_t known = 0;
};

struct RaceWay {
  unsigned variable_bytes = 8;  // fewer: several share a cell
  bool own_sites = false;       // each event has one
  std::uint32_t slots = 255;
  std::uint32_t epochs = 1u << 20;
  std::uint32_t objects = 256;
};

/// What is reported and not so; empty: nothing. Adds to the shares.
[[nodiscard]] std::string false_race(std::span<const Event> events, const RaceWay& way,
                                     RaceShares& shares);

/// For so many seeds, the first with a false race, shrunk.
[[nodiscard]] std::optional<std::string> first_false_race(
    std::uint64_t first, std::uint64_t count, RaceShares& shares,
    const std::function<void(std::uint64_t)>& progress = {});

}  // namespace syndrome::engine
