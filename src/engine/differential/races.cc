#include "engine/differential/races.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "check/races/happens_before.h"
#include "check/races/oracle.h"
#include "check/samples/random_trace.h"
#include "check/samples/shrink.h"
#include "engine/differential/player.h"

namespace syndrome::engine {
namespace {

constexpr std::uint32_t kSites = 4;

bool is_access(const Event& event) {
  return event.kind <= EventKind::kRmw;
}

MadeUpUnit one_function(std::size_t sites) {
  MadeUpUnit::Function function;
  function.sites.resize(sites, unit::Site{.bytes = 1});
  return {std::span(&function, 1), {}};
}

std::uint32_t site_of(std::span<const Event> events, std::size_t index, const RaceWay& way) {
  return way.own_sites ? static_cast<std::uint32_t>(index + 1)
                       : 1 + events[index].site.value % kSites;
}

void play(Player& player, std::span<const Event> events, const RaceWay& way) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    player.event = i + 1;
    if ((event.flags & kDropped) != 0) continue;
    if (!is_access(event)) {
      player.synchronize(event);
      continue;
    }
    Thread& self = player.thread(event.thread);
    const std::uint32_t site = site_of(events, i, way);
    const std::uint64_t address = player.address_of(event.target);
    if (check::is_atomic(event)) {
      const Atomic what = event.kind == EventKind::kRead    ? Atomic::kLoad
                          : event.kind == EventKind::kWrite ? Atomic::kStore
                                                            : Atomic::kRmw;
      player.engine().atomic(self, what, address, way.variable_bytes,
                             order_of(check::order_of(event)), site);
    } else {
      player.engine().range(self, address, way.variable_bytes, event.kind == EventKind::kWrite,
                            false, site);
    }
  }
}

}  // namespace

std::string false_race(std::span<const Event> events, const RaceWay& way, RaceShares& shares) {
  const MadeUpUnit unit = one_function(way.own_sites ? events.size() : kSites);
  Limits limits;
  limits.slots = way.slots;
  limits.epochs = way.epochs;
  limits.nodes = 64;
  limits.objects = way.objects;
  limits.clock_entries = 1u << 14;
  limits.report_all = true;
  Player player(limits);
  player.variable_bytes = way.variable_bytes;
  player.engine().announce(unit.header());
  player.outermost = unit.function(0);
  play(player, events, way);
  shares.resets += player.engine().resets();
  shares.known += player.counters().known;
  ++shares.traces;

  std::vector<std::size_t> life(events.size(), 0);
  std::map<std::uint32_t, std::size_t> lives;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventKind kind = events[i].kind;
    if (target_space(kind) != Space::kVariable) continue;
    if (kind == EventKind::kAlloc || kind == EventKind::kFree) ++lives[events[i].target];
    life[i] = lives[events[i].target];
  }
  using Life = std::pair<std::uint32_t, std::size_t>;
  std::set<Life> racy;
  std::set<Life> found;
  // By the later event: what races with it.
  std::map<EventNumber, std::vector<EventNumber>> races;
  for (const check::Race& race : check::race_oracle(events).all) {
    racy.insert({events[race.later - 1].target, life[race.later - 1]});
    races[race.later].push_back(race.earlier);
  }
  for (const SeenRace& seen : player.races) {
    bool so = false;
    for (const EventNumber earlier : races[seen.event]) {
      const Event& event = events[earlier - 1];
      so |= site_of(events, earlier - 1, way) == seen.earlier.site &&
            seen.earlier.write == (event.kind != EventKind::kRead) &&
            seen.earlier.atomic == check::is_atomic(event);
    }
    if (!so) {
      return fmt::format("{} is said to race with {} at site {}", seen.event,
                         seen.earlier.write ? "a write" : "a read", seen.earlier.site);
    }
    found.insert({events[seen.event - 1].target, life[seen.event - 1]});
  }
  const bool shared = way.variable_bytes < 8;
  (shared ? shares.racy_in_shared : shares.racy) += racy.size();
  (shared ? shares.found_in_shared : shares.found) += found.size();
  return {};
}

std::optional<std::string> first_false_race(std::uint64_t first, std::uint64_t count,
                                            RaceShares& shares,
                                            const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t kProgressEvery = 1000;
  for (std::uint64_t done = 0; done < count; ++done) {
    if (progress && done % kProgressEvery == 0) progress(done);
    const std::uint64_t seed = first + done;
    const check::SmallTrace trace =
        check::random_trace(seed, {.orders = seed % 3 == 1, .forks = seed % 3 == 2, .sites = true});
    RaceWay way;
    constexpr unsigned kVariableBytes[] = {8, 4, 8, 2};
    way.variable_bytes = kVariableBytes[seed / 3 % 4];
    way.own_sites = seed / 12 % 2 == 0;
    if (seed / 24 % 8 == 7) way.slots = 2 + static_cast<std::uint32_t>(seed / 192 % 3);
    if (seed / 24 % 8 == 6) way.epochs = 3 + static_cast<std::uint32_t>(seed / 192 % 6);
    if (seed / 24 % 8 == 5) way.objects = static_cast<std::uint32_t>(seed / 192 % 4);
    // What few slots, epochs and objects lose is no measure of the cells.
    const bool plenty = seed / 24 % 8 < 5;
    RaceShares aside;
    if (false_race(trace.events, way, plenty ? shares : aside).empty()) {
      if (!plenty) shares.resets += aside.resets;
      continue;
    }
    const check::SmallTrace small = check::shrink(trace, [&](std::span<const Event> events) {
      RaceShares none;
      return !false_race(events, way, none).empty();
    });
    return fmt::format("seed {}, {} bytes, {}, {} slots, {} epochs, {} objects, shrunk: {}\n{}\n",
                       seed, way.variable_bytes, way.own_sites ? "own sites" : "few sites",
                       way.slots, way.epochs, way.objects, false_race(small.events, way, aside),
                       check::to_std(small));
  }
  return std::nullopt;
}

}  // namespace syndrome::engine
