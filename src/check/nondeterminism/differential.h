// The analysis, its schedules and the verifier against the oracle, for tests and `make fuzz`.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "check/nondeterminism/oracle.h"
#include "event/event.h"

namespace syndrome::check {

/// What the analysis says about a small trace, triple by triple. Throws std::logic_error when the
/// verifier does not accept one of its schedules, or when something is undecided.
[[nodiscard]] Nondeterminism predict(std::span<const Event> events);

/// Where it and the oracle differ, in words; empty when they do not, or when the trace is too large
/// for the oracle.
[[nodiscard]] std::string nondeterminism_disagreement(std::span<const Event> events);

/// The first of `count` random traces from seed `first` on for which they differ, shrunk. Counts
/// those with a nondeterministic read.
[[nodiscard]] std::optional<std::string> first_nondeterminism_disagreement(
    std::uint64_t first, std::uint64_t count, std::uint64_t* nondeterministic = nullptr,
    const std::function<void(std::uint64_t)>& progress = {});

}  // namespace syndrome::check
