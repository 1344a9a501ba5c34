// The candidates that the engine reports, compared with what the rule of units finds in the whole
// trace (check/units/detector.h), on random programs. What the rule calls certain or likely, the
// engine has to have reported when it happened; it may report more.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "check/samples/random_trace.h"
#include "engine/differential/player.h"

namespace syndrome::engine {

/// A program of made-up functions, and a run of it. A site's number in the trace is 1 + its index.
struct MadeUpRun {
  check::SmallTrace trace;
  std::vector<MadeUpUnit::Function> functions;
  std::vector<unit::Flow> flows;

  [[nodiscard]] std::uint32_t first_site(std::size_t function) const;
};
/// Crowded: all sites of all threads access a few variables, so that many ways meet in one cell.
/// Otherwise each site accesses one of several, as most code does.
[[nodiscard]] MadeUpRun random_run(std::uint64_t seed, bool crowded);

struct CandidateShares {
  std::uint64_t findings = 0;    // certain or likely, one for each two steps
  std::uint64_t reported = 0;    // of them
  std::uint64_t runs = 0;        // with any
  std::uint64_t runs_found = 0;  // of them, those with one that is reported
  std::uint64_t candidates = 0;
  std::uint64_t dropped = 0;
  std::uint64_t resets = 0;
};

/// The events of the run's program. What is missed; empty: nothing.
[[nodiscard]] std::string missed_finding(const MadeUpRun& run, std::span<const Event> events,
                                         const Limits& limits, CandidateShares& shares);

/// For so many seeds. Gives the first that is missed, shrunk, if that is wanted.
[[nodiscard]] std::optional<std::string> compare_candidates(
    std::uint64_t first, std::uint64_t count, bool crowded, CandidateShares& shares,
    bool stop_at_first, const std::function<void(std::uint64_t)>& progress = {});

}  // namespace syndrome::engine
