#include "check/determinism/differential.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "check/determinism/determinism.h"
#include "check/determinism/oracle.h"
#include "check/determinism/verify.h"
#include "check/samples/shrink.h"

namespace syndrome::check::determinism {
namespace {

using Conflicts = std::vector<BlockConflict>;

std::string words(const BlockConflict& c) {
  return fmt::format("{} and {} in {}", c.earlier, c.later, c.block);
}

/// Every violation, with each setting of the filter.
std::string compare_all(const OracleResult& expected, std::span<const Event> events,
                        const Names& names, bool filter) {
  Options options;
  options.all = true;
  options.race_filter = filter;
  const CheckResult found = run_on(events, names, options);
  const std::string_view with = filter ? "filtered" : "unfiltered";
  if (!found.complete) return fmt::format("{}: {}", with, found.notes.front());
  if ((found.verdict == Verdict::kClean) != expected.clean()) {
    return fmt::format("{}: {}, but the oracle: {}", with, name_of(found.verdict),
                       expected.clean() ? "clean" : "violated");
  }
  Conflicts conflicts;
  std::vector<EventNumber> cycles;
  for (const Finding& finding : found.findings) {
    if (finding.rule == kConflictRule) {
      conflicts.push_back({finding.block, finding.events[0], finding.events[1]});
    } else {
      cycles.push_back(finding.block);
    }
  }
  std::ranges::sort(conflicts);
  std::ranges::sort(cycles);
  Conflicts differ;
  std::ranges::set_symmetric_difference(conflicts, expected.conflicts, std::back_inserter(differ));
  if (!differ.empty()) {
    const bool missing = std::ranges::find(conflicts, differ[0]) == conflicts.end();
    return fmt::format("{}: conflict of {} is {}", with, words(differ[0]),
                       missing ? "missing" : "none");
  }
  if (cycles != expected.wide) {
    return fmt::format("{}: cycles of blocks {}, but the oracle: {}", with, fmt::join(cycles, ", "),
                       fmt::join(expected.wide, ", "));
  }
  return {};
}

/// The default: blocks in the strict sense. Random traces without sites have one finding for each.
std::string compare_default(const OracleResult& expected, std::span<const Event> events,
                            const Names& names) {
  const CheckResult found = run_on(events, names, {});
  std::set<EventNumber> cycles;
  std::uint64_t conflicts = 0;
  for (const Finding& finding : found.findings) {
    if (finding.rule == kCycleRule) cycles.insert(finding.block);
    if (finding.rule == kConflictRule) conflicts += finding.count;
  }
  if (conflicts != expected.conflicts.size()) {
    return fmt::format("{} conflicts are grouped, the oracle has {}", conflicts,
                       expected.conflicts.size());
  }
  // Where events have sites, several blocks may be one finding.
  const bool sites = std::ranges::any_of(events, [](const Event& e) { return e.site.value != 0; });
  if (!sites && !std::ranges::equal(cycles, expected.strict)) {
    return fmt::format("strict cycles of blocks {}, but the oracle: {}", fmt::join(cycles, ", "),
                       fmt::join(expected.strict, ", "));
  }
  if (!std::ranges::includes(expected.strict, cycles)) return "a cycle that is not strict";
  Options first;
  first.first = true;
  const CheckResult one = run_on(events, names, first);
  if (one.findings.size() != (expected.clean() ? 0 : 1)) {
    return fmt::format("--first gives {} findings", one.findings.size());
  }
  return {};
}

std::string compare(const OracleResult& expected, std::span<const Event> events,
                    const Names& names) {
  for (const bool filter : {true, false}) {
    if (std::string found = compare_all(expected, events, names, filter); !found.empty()) {
      return found;
    }
  }
  return compare_default(expected, events, names);
}

void count(Tally& tally, const OracleResult& expected, std::span<const Event> events) {
  tally.violated += expected.clean() ? 0 : 1;
  tally.conflicts += expected.conflicts.empty() ? 0 : 1;
  tally.cycles += expected.wide.empty() ? 0 : 1;
  tally.inner_cycles += std::ranges::any_of(
      expected.wide, [&](EventNumber block) { return events[block - 1].flags != 0; });
}

}  // namespace

CheckResult run_on(std::span<const Event> events, const Names& names, const Options& options) {
  std::vector<Event> copy(events.begin(), events.end());
  const std::unique_ptr<Check> check = make_determinism(options);
  do {
    // In batches, as a reader gives them.
    constexpr std::size_t kBatch = 7;
    for (std::size_t at = 0; at < copy.size() && !check->satisfied(); at += kBatch) {
      const std::span<Event> part(copy.data() + at, std::min(kBatch, copy.size() - at));
      check->take({part, at + 1}, names);
    }
  } while (check->end_of_pass(names));
  return check->result();
}

std::string disagreement(std::span<const Event> events, const Names& names) {
  return compare(oracle(events), events, names);
}

std::optional<std::string> first_disagreement(std::uint64_t first, std::uint64_t traces,
                                              Tally* tally,
                                              const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t kProgressEvery = 1000;
  for (std::uint64_t done = 0; done < traces; ++done) {
    if (progress && done % kProgressEvery == 0) progress(done);
    const std::uint64_t seed = first + done;
    const SmallTrace trace = random_trace(seed, {.orders = false, .forks = true});
    const OracleResult expected = oracle(trace.events);
    if (tally != nullptr) count(*tally, expected, trace.events);
    if (compare(expected, trace.events, trace.names).empty()) continue;
    const SmallTrace small = shrink(trace, [&](std::span<const Event> events) {
      return !disagreement(events, trace.names).empty();
    });
    return fmt::format("seed {}, shrunk:\n{}\n{}", seed, disagreement(small.events, trace.names),
                       to_std(small));
  }
  return std::nullopt;
}

}  // namespace syndrome::check::determinism
