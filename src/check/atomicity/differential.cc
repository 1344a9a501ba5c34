#include "check/atomicity/differential.h"

#include <fmt/format.h>

#include <array>

#include "check/atomicity/aerodrome.h"
#include "check/atomicity/aerodrome_literal.h"
#include "check/atomicity/oracle.h"
#include "check/atomicity/reach.h"
#include "check/atomicity/shrink.h"
#include "check/atomicity/velodrome.h"

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
    for (const DifferentialEngine& engine : kEngines) {
      if (compare(engine, expected, trace.events).empty()) continue;
      const SmallTrace small = shrink(trace, [&](std::span<const Event> events) {
        return !disagreement(engine, events).empty();
      });
      return fmt::format("seed {}, shrunk:\n{}\n{}", seed, disagreement(engine, small.events),
                         to_std(small));
    }
  }
  return std::nullopt;
}

}  // namespace syndrome::check
