// One table of everything that decides conflict serializability, compared with the oracle.
//
// To add an engine: one line in kEngines (differential.cc).

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "check/atomicity/engine.h"
#include "check/samples/random_trace.h"
#include "event/event.h"

namespace syndrome::check {

struct DifferentialEngine {
  std::string_view name;
  Violation (*run)(std::span<const Event>);
  /// Reports at the very event that closes the first cycle, not at a later one.
  bool earliest = false;
};

[[nodiscard]] std::span<const DifferentialEngine> differential_engines();

/// In what `engine` disagrees with the oracle on this trace, in words; empty if in nothing.
[[nodiscard]] std::string disagreement(const DifferentialEngine& engine,
                                       std::span<const Event> events);

/// Compares every engine, and the search for violating blocks with each of its cycles, with the
/// oracle on the random traces of `count` seeds from `first`. Counts
/// the violating ones in `violated` if given. The first disagreement comes back as a text that
/// names engine and seed and ends in the shrunk trace as STD; nothing when all agree. `progress` is
/// called now and then with how many are done.
[[nodiscard]] std::optional<std::string> first_disagreement(
    std::uint64_t first, std::uint64_t count, std::uint64_t* violated = nullptr,
    const std::function<void(std::uint64_t)>& progress = {});

}  // namespace syndrome::check
