#include "check/races/differential.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "check/races/detector.h"
#include "check/races/oracle.h"
#include "check/races/racing_pairs.h"
#include "check/races/verify.h"
#include "check/samples/random_trace.h"
#include "check/samples/shrink.h"

namespace syndrome::check {
namespace {

/// Whether HappensBefore keeps time by such events.
bool is_timed(const Event& event) {
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kRmw:
    case EventKind::kAcquire:
    case EventKind::kRelease:
    case EventKind::kAcquireShared:
    case EventKind::kReleaseShared:
    case EventKind::kFork:
    case EventKind::kJoin:
    case EventKind::kBarrierArrive:
    case EventKind::kBarrierLeave:
    case EventKind::kPost:
    case EventKind::kWait:
    case EventKind::kFence:
    case EventKind::kHappensBefore:
    case EventKind::kHappensAfter: return event.flags == 0;
    default: return false;
  }
}

std::string compare_clocks(std::span<const Event> events) {
  const std::vector<std::vector<bool>> before = happens_before_oracle(events);
  HappensBefore clocks;
  for (std::size_t f = 0; f < events.size(); ++f) {
    dispatch(clocks, events[f], f + 1);
    if (!is_timed(events[f])) continue;
    for (std::size_t e = 0; e < f; ++e) {
      if (!is_timed(events[e])) continue;
      const bool found = clocks.before(clocks.slot_of(events[e].thread), e + 1, events[f].thread);
      if (found != before[f][e]) {
        return fmt::format("the clocks say that {} {} before {}, the oracle does not", e + 1,
                           found ? "happens" : "does not happen", f + 1);
      }
    }
  }
  return {};
}

std::string words_of(const std::vector<Race>& races) {
  std::string text;
  for (const Race& race : races) text += fmt::format(" {}-{}", race.earlier, race.later);
  return text.empty() ? " none" : text;
}

/// For each life of a variable that has a race, where the first is noticed.
std::string compare_detector(const RaceDetector& detector, const RaceOracle& expected,
                             std::span<const Event> events) {
  std::vector<std::size_t> life(events.size(), 0);  // of the variable that is accessed
  std::map<std::uint32_t, std::size_t> lives;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventKind kind = events[i].kind;
    if (target_space(kind) != Space::kVariable) continue;
    if (kind == EventKind::kAlloc || kind == EventKind::kFree) ++lives[events[i].target];
    life[i] = lives[events[i].target];
  }
  std::map<std::pair<std::uint32_t, std::size_t>, EventNumber> first;
  for (const Race& race : expected.all) {
    const std::size_t i = race.later - 1;
    EventNumber& least = first[{events[i].target, life[i]}];
    least = least == 0 ? race.later : std::min(least, race.later);
  }
  std::vector<EventNumber> noticed;
  for (const auto& [variable, at] : first) noticed.push_back(at);
  std::ranges::sort(noticed);
  std::vector<EventNumber> found;
  for (const Race& race : detector.first_races()) {
    found.push_back(race.later);
    if (!std::ranges::binary_search(expected.all, race)) {
      return fmt::format("the detector says that {} races with {}", race.later, race.earlier);
    }
  }
  if (found != noticed) {
    return fmt::format("the detector:{}; of all races:{}", words_of(detector.first_races()),
                       words_of(expected.all));
  }
  for (const Event& event : events) {
    if (event.kind > EventKind::kRmw) continue;
    const bool racy = std::ranges::any_of(
        first, [&](const auto& entry) { return entry.first.first == event.target; });
    if (detector.racy(event.var()) != racy) return "the detector's racy variables are others";
  }
  return {};
}

std::string compare_pairs(const RaceDetector& detector, const RaceOracle& expected,
                          std::span<const Event> events) {
  std::vector<Race> found;
  std::set<std::pair<SiteId, SiteId>> sites;
  RacingPairs pairs(detector, [&](Race race, SiteId earlier, SiteId later) {
    found.push_back(race);
    sites.insert(std::minmax(earlier, later));
  });
  EventNumber number = 0;
  for (const Event& event : events) dispatch(pairs, event, ++number);
  std::ranges::sort(found);
  if (found != expected.last) {
    return fmt::format("the racing pairs:{}; the oracle:{}", words_of(found),
                       words_of(expected.last));
  }
  std::set<std::pair<SiteId, SiteId>> all_sites;
  for (const Race& race : expected.all) {
    all_sites.insert(std::minmax(events[race.earlier - 1].site, events[race.later - 1].site));
  }
  return sites == all_sites ? "" : "the sites of the racing pairs are not those of all races";
}

/// Every pair of accesses is a race to the verifier just when it is one to the oracle.
std::string compare_verifier(const RaceOracle& expected, std::span<const Event> events) {
  std::vector<Race> claims;
  for (std::size_t e = 0; e < events.size(); ++e) {
    for (std::size_t f = e + 1; f < events.size(); ++f) {
      if (events[e].kind <= EventKind::kRmw && events[f].kind <= EventKind::kRmw) {
        claims.push_back({e + 1, f + 1});
      }
    }
  }
  std::vector<Event> copy(events.begin(), events.end());
  RaceVerifier verifier(claims);
  verifier.take(Batch{copy, 1});
  for (const Race& claim : claims) {
    const std::optional<std::string> why = verifier.reject(claim);
    if (why.has_value() == std::ranges::binary_search(expected.all, claim)) {
      return fmt::format("the verifier about {}-{}: {}", claim.earlier, claim.later,
                         why.value_or("accepted"));
    }
  }
  return {};
}

}  // namespace

std::string race_disagreement(std::span<const Event> events) {
  const RaceOracle expected = race_oracle(events);
  RaceDetector detector;
  EventNumber number = 0;
  for (const Event& event : events) dispatch(detector, event, ++number);
  std::string found = compare_clocks(events);
  if (found.empty()) found = compare_detector(detector, expected, events);
  if (found.empty()) found = compare_pairs(detector, expected, events);
  if (found.empty()) found = compare_verifier(expected, events);
  return found;
}

std::optional<std::string> first_race_disagreement(
    std::uint64_t first, std::uint64_t count, std::uint64_t* racy,
    const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t kProgressEvery = 1000;
  for (std::uint64_t done = 0; done < count; ++done) {
    if (progress && done % kProgressEvery == 0) progress(done);
    const std::uint64_t seed = first + done;
    const SmallTrace trace = random_trace(seed, {.orders = true});
    if (racy != nullptr && !race_oracle(trace.events).all.empty()) ++*racy;
    if (race_disagreement(trace.events).empty()) continue;
    const SmallTrace small = shrink(
        trace, [](std::span<const Event> events) { return !race_disagreement(events).empty(); });
    return fmt::format("seed {}, shrunk:\n{}\n{}", seed, race_disagreement(small.events),
                       to_std(small));
  }
  return std::nullopt;
}

}  // namespace syndrome::check
