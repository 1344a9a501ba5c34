// The check against the definition (oracle.h), over random traces: with and without the race
// filter, default and --all, and every finding accepted by the verifier.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "check/check.h"
#include "check/samples/random_trace.h"

namespace syndrome::check::determinism {

/// Shows the check a trace in memory, as often as it asks.
[[nodiscard]] CheckResult run_on(std::span<const Event> events, const Names& names,
                                 const Options& options);

/// In what the check disagrees with the oracle on this trace, in words; empty if in nothing.
[[nodiscard]] std::string disagreement(std::span<const Event> events, const Names& names);

struct Tally {
  std::uint64_t violated = 0;
  std::uint64_t conflicts = 0;     // traces with a conflict in a block
  std::uint64_t cycles = 0;        // traces with a block that is not externally serializable
  std::uint64_t inner_cycles = 0;  // … and that is inside of another one
};

/// Over the random traces of `count` seeds from `first`: the first disagreement as a text that
/// names the seed and ends in the shrunk trace as STD; nothing when all agree.
[[nodiscard]] std::optional<std::string> first_disagreement(
    std::uint64_t first, std::uint64_t count, Tally* tally = nullptr,
    const std::function<void(std::uint64_t)>& progress = {});

}  // namespace syndrome::check::determinism
