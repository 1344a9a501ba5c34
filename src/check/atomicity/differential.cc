#include "check/atomicity/differential.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "check/atomicity/aerodrome.h"
#include "check/atomicity/aerodrome_literal.h"
#include "check/atomicity/evidence.h"
#include "check/atomicity/oracle.h"
#include "check/atomicity/reach.h"
#include "check/atomicity/velodrome.h"
#include "check/atomicity/verify.h"
#include "check/samples/shrink.h"

namespace syndrome::check {
namespace {

/// Shows the whole trace to a new engine, and on to the end if the engine has one.
template <AtomicityEngine Engine>
Violation run(std::span<const Event> events) {
  Engine engine;
  EventNumber number = 0;
  for (const Event& event : events) {
    dispatch(engine, event, ++number);
    if (engine.violation().event != 0) break;
  }
  engine.finish(number);
  return engine.violation();
}

/// Gives rows back and numbers slots anew at every turn, which small traces never come to.
class EagerAerodrome : public Aerodrome {
 public:
  EagerAerodrome() : Aerodrome({.max_tick = 6, .always_sweep = true}) {}
};

constexpr std::array kEngines = {
    DifferentialEngine{.name = "reach", .run = run<Reach>, .earliest = true},
    DifferentialEngine{.name = "velodrome", .run = run<Velodrome>, .earliest = true},
    DifferentialEngine{.name = "literal AeroDrome", .run = run<AerodromeLiteral>},
    DifferentialEngine{.name = "aerodrome", .run = run<Aerodrome>},
    DifferentialEngine{.name = "eager aerodrome", .run = run<EagerAerodrome>},
};

std::string compare(const DifferentialEngine& engine, const OracleResult& expected,
                    std::span<const Event> events) {
  const Violation found = engine.run(events);
  if ((found.event == 0) != expected.serializable) {
    return fmt::format(
        "{}: {}, but the oracle: {}", engine.name,
        found.event == 0 ? "clean" : fmt::format("violated at {}", found.event),
        expected.serializable ? "clean" : fmt::format("violated at {}", expected.first_violation));
  }
  if (found.event < expected.first_violation ||
      (engine.earliest && found.event != expected.first_violation)) {
    return fmt::format("{}: violated at {}, but the oracle: at {}", engine.name, found.event,
                       expected.first_violation);
  }
  return {};
}

/// The search for violating blocks: which ones it lists in each sense, and whether the verifier
/// accepts every cycle.
std::string compare_evidence(const OracleResult& expected, std::span<const Event> events,
                             std::size_t window) {
  std::vector<Event> copy(events.begin(), events.end());
  const Batch batch{copy, 1};
  std::vector<EventNumber> strict;
  std::vector<EventNumber> wide;
  std::vector<Finding> findings;
  Evidence::Options options;
  options.wide = true;
  options.window = window;
  Evidence evidence(options, [&](const Cycle& cycle) {
    if (cycle.sense == Sense::kStrict) strict.push_back(cycle.block);
    wide.push_back(cycle.block);
    findings.emplace_back();
    findings.back().block = cycle.block;
    findings.back().cycle = cycle.edges;
  });
  dispatch(evidence, batch);
  evidence.finish();
  std::ranges::sort(strict);
  std::ranges::sort(wide);
  if (strict != expected.strict || wide != expected.wide) {
    return fmt::format("the search lists {} blocks ({} strict), the oracle {} ({})", wide.size(),
                       strict.size(), expected.wide.size(), expected.strict.size());
  }
  CycleVerifier verifier(findings);
  verifier.take(batch);
  for (const Finding& finding : findings) {
    if (const auto reason = verifier.reject(finding)) {
      return fmt::format("the cycle of block {} is rejected: {}", finding.block, *reason);
    }
  }
  return {};
}

/// In what anything disagrees with the oracle.
std::string any_disagreement(const OracleResult& expected, std::span<const Event> events) {
  for (const DifferentialEngine& engine : kEngines) {
    if (std::string found = compare(engine, expected, events); !found.empty()) return found;
  }
  // A window of a few events settles all the time, a large one only at the end.
  std::string found = compare_evidence(expected, events, 3);
  return found.empty() ? compare_evidence(expected, events, 1000) : found;
}

}  // namespace

std::span<const DifferentialEngine> differential_engines() {
  return kEngines;
}

std::string disagreement(const DifferentialEngine& engine, std::span<const Event> events) {
  return compare(engine, oracle(events), events);
}

std::optional<std::string> first_disagreement(std::uint64_t first, std::uint64_t count,
                                              std::uint64_t* violated,
                                              const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t kProgressEvery = 1000;
  for (std::uint64_t done = 0; done < count; ++done) {
    if (progress && done % kProgressEvery == 0) progress(done);
    const std::uint64_t seed = first + done;
    const SmallTrace trace = random_trace(seed);
    const OracleResult expected = oracle(trace.events);
    if (violated != nullptr && !expected.serializable) ++*violated;
    if (any_disagreement(expected, trace.events).empty()) continue;
    const SmallTrace small = shrink(trace, [](std::span<const Event> events) {
      return !any_disagreement(oracle(events), events).empty();
    });
    return fmt::format("seed {}, shrunk:\n{}\n{}", seed,
                       any_disagreement(oracle(small.events), small.events), to_std(small));
  }
  return std::nullopt;
}

}  // namespace syndrome::check
