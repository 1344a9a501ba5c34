#include "engine/differential/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <tuple>

#include "check/races/happens_before.h"
#include "check/samples/shrink.h"
#include "check/units/detector.h"

namespace syndrome::engine {
namespace {

using check::units::Detector;
using check::units::Found;
using check::units::Tier;

constexpr std::uint32_t kVariables = 12;
constexpr std::uint32_t kFewVariables = 4;
constexpr std::uint32_t kMaxThreads = 3;

class Maker {
 public:
  Maker(std::uint64_t seed, bool crowded) : random_(seed), crowded_(crowded) {}

  MadeUpRun make() {
    make_program();
    make_names();
    make_events();
    return std::move(run_);
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool percent(std::uint32_t p) { return below(100) < p; }

  unit::Site site(std::uint32_t functions) {
    unit::Site made;
    made.bytes = 8;
    const std::uint32_t what = below(100);
    if (what < 35) {
      made.kind = unit::SiteKind::kRead;
    } else if (what < 60) {
      made.kind = unit::SiteKind::kWrite;
    } else if (what < 68) {
      made.kind = unit::SiteKind::kReadWrite;
    } else if (what < 74) {
      made.kind = unit::SiteKind::kAtomic;
    } else {
      made.kind = unit::SiteKind::kCall;
      made.bytes = 0;
      made.offset = static_cast<std::int32_t>(below(functions));  // whom it calls
    }
    if (percent(60)) made.flags |= unit::kReachesResult;
    if (percent(50)) made.flags |= unit::kSteered;
    return made;
  }

  void make_program() {
    const std::uint32_t functions = 1 + below(4);
    for (std::uint32_t f = 0; f < functions; ++f) {
      MadeUpUnit::Function& function = run_.functions.emplace_back();
      function.name = fmt::format("f{}", f);
      const std::uint32_t sites = 2 + below(4);
      for (std::uint32_t i = 0; i < sites; ++i) function.sites.push_back(site(functions));
    }
    constexpr std::array kHows = {std::uint32_t{unit::kFlowData},
                                  std::uint32_t{unit::kFlowData},
                                  std::uint32_t{unit::kFlowData | unit::kFlowPointer},
                                  std::uint32_t{unit::kFlowAddress},
                                  std::uint32_t{unit::kFlowControl | unit::kFlowDecides},
                                  std::uint32_t{unit::kFlowControl | unit::kFlowConstant},
                                  std::uint32_t{unit::kFlowJoined},
                                  std::uint32_t{unit::kFlowSource},
                                  std::uint32_t{unit::kFlowReset},
                                  std::uint32_t{unit::kFlowReread},
                                  std::uint32_t{unit::kFlowControl | unit::kFlowCompared}};
    const std::uint32_t share = 5 + below(30);
    for (std::uint32_t f = 0; f < functions; ++f) {
      const std::uint32_t first = run_.first_site(f);
      const auto sites = static_cast<std::uint32_t>(run_.functions[f].sites.size());
      for (std::uint32_t from = 0; from < sites; ++from) {
        for (std::uint32_t to = 0; to < sites; ++to) {
          if (from == to || !percent(share)) continue;
          run_.flows.push_back({first + from, first + to, kHows.at(below(kHows.size()))});
        }
      }
    }
  }

  void make_names() {
    Names& names = run_.trace.names;
    Layout& layout = names.layout();
    for (const MadeUpUnit::Function& function : run_.functions) {
      names.table(Space::kLabel).append(function.name);
      for (std::size_t i = 0; i < function.sites.size(); ++i) {
        const SiteId id(
            names.table(Space::kSite).append(fmt::format("{}:{}", function.name, i + 1)));
        if ((function.sites[i].flags & unit::kReachesResult) != 0) layout.results.push_back(id);
        if ((function.sites[i].flags & unit::kSteered) != 0) layout.steered.push_back(id);
      }
    }
    for (const unit::Flow& flow : run_.flows) {
      layout.flows.push_back({SiteId(flow.from + 1), SiteId(flow.to + 1), flow.how});
    }
    const bool global = percent(60);
    layout.regions.push_back({.begin = Player::kBase,
                              .bytes = 8 * kVariables,
                              .owner = 0,
                              .owner_region = 0,
                              .global = true});
    for (std::uint32_t i = 0; i < kVariables; ++i) {
      names.table(Space::kVariable).append(fmt::format("x{}", i));
      layout.variables.push_back({Player::kBase + 8 * i, global ? 1U : 0U});
    }
    for (std::uint32_t i = 0; i < kMaxThreads; ++i) {
      names.table(Space::kThread).append(fmt::format("T{}", i));
      for (const Space space : {Space::kLock, Space::kSemaphore, Space::kBarrier}) {
        names.table(space).append(fmt::format("n{}", i));
      }
    }
  }

  void append(std::uint32_t thread, EventKind kind, std::uint32_t target, std::uint32_t site = 0,
              MemoryOrder order = MemoryOrder::kPlain) {
    Event event;
    event.thread = ThreadId(thread);
    event.kind = kind;
    event.target = target;
    event.site = SiteId(site);
    event.order = order;
    if (!state_.allows(event)) return;
    state_.apply(event);
    run_.trace.events.push_back(event);
  }

  void make_events() {
    const std::uint32_t threads = 2 + below(kMaxThreads - 1);
    const std::uint32_t variables =
        crowded_ ? 1 + below(kFewVariables) : kFewVariables + below(kVariables - kFewVariables);
    const std::uint32_t locks = percent(80) ? 1 + below(2) : 0;
    const bool disciplined = locks != 0 && percent(70);
    const std::uint32_t stay = 50 + below(45);
    const std::uint32_t others = percent(20) ? 6 : 0;
    const std::uint32_t size = 20 + below(100);
    std::vector<std::vector<std::uint32_t>> stacks(threads);
    std::uint32_t thread = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      if (!percent(stay)) thread = below(threads);
      std::vector<std::uint32_t>& stack = stacks[thread];
      if (stack.empty()) {
        const std::uint32_t function = below(static_cast<std::uint32_t>(run_.functions.size()));
        stack.push_back(function);
        append(thread, EventKind::kEnter, 1 + function);
        continue;
      }
      const std::uint32_t what = below(100 + others);
      if (what < 10) {
        append(thread, EventKind::kExit, 1 + stack.back());
        stack.pop_back();
      } else if (what < 40 && locks != 0) {
        const std::uint32_t lock = below(locks);
        append(thread,
               state_.holds(ThreadId(thread), lock) ? EventKind::kRelease : EventKind::kAcquire,
               lock);
      } else if (what >= 100) {
        append(thread, what % 2 == 0 ? EventKind::kPost : EventKind::kWait, 0);
      } else {
        step(thread, stack, variables, disciplined ? locks : 0);
      }
    }
  }

  void step(std::uint32_t thread, std::vector<std::uint32_t>& stack, std::uint32_t variables,
            std::uint32_t locks) {
    const std::uint32_t function = stack.back();
    const std::vector<unit::Site>& sites = run_.functions[function].sites;
    const std::uint32_t at = below(static_cast<std::uint32_t>(sites.size()));
    const std::uint32_t id = run_.first_site(function) + at + 1;
    const unit::Site& site = sites[at];
    const std::uint32_t variable = crowded_ ? below(variables) : id % variables;
    if (site.kind == unit::SiteKind::kCall) {
      if (stack.size() > 3) return;
      stack.push_back(static_cast<std::uint32_t>(site.offset));
      append(thread, EventKind::kEnter, 1 + stack.back(), id);
      return;
    }
    if (locks != 0 && !state_.holds(ThreadId(thread), variable % locks)) {
      if (site.kind != unit::SiteKind::kAtomic) return;
    }
    switch (site.kind) {
      case unit::SiteKind::kRead: append(thread, EventKind::kRead, variable, id); break;
      case unit::SiteKind::kWrite: append(thread, EventKind::kWrite, variable, id); break;
      case unit::SiteKind::kReadWrite:
        append(thread, EventKind::kRead, variable, id);
        append(thread, EventKind::kWrite, variable, id);
        break;
      default: {
        constexpr std::array kKinds = {EventKind::kRead, EventKind::kWrite, EventKind::kRmw};
        append(thread, kKinds.at(below(3)), variable, id, MemoryOrder::kSeqCst);
        break;
      }
    }
  }

  std::mt19937_64 random_;
  bool crowded_;
  MadeUpRun run_;
  check::TraceState state_;
};

/// Calls the engine as the program would; false: the events are not of the program.
class Run {
 public:
  Run(const MadeUpRun& run, const MadeUpUnit& unit, Player& player)
      : run_(run), unit_(unit), player_(player) {
    for (std::uint32_t f = 0; f < run.functions.size(); ++f) {
      for (std::uint32_t i = 0; i < run.functions[f].sites.size(); ++i) owner_.push_back(f);
    }
  }

  bool play(std::span<const Event> events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      player_.event = i + 1;
      if (event.kind == EventKind::kEnter) {
        if (event.site.value != 0 && number(event) == 0) return false;
        enter(event);
      } else if (event.kind == EventKind::kExit) {
        std::vector<std::uint32_t>& stack = stack_of(event.thread);
        if (stack.empty() || stack.back() + 1 != event.target) return false;
        stack.pop_back();
        player_.engine().exit(player_.thread(event.thread), unit_.function(event.target - 1));
      } else if (event.kind > EventKind::kRmw) {
        player_.synchronize(event);
      } else if (!access(event, i + 1 < events.size() ? &events[i + 1] : nullptr)) {
        return false;
      }
    }
    return true;
  }

 private:
  std::vector<std::uint32_t>& stack_of(ThreadId thread) { return stacks_[thread]; }
  /// The number of the site in the function that runs; 0: it is not there.
  std::uint32_t number(const Event& event) {
    const std::vector<std::uint32_t>& stack = stack_of(event.thread);
    if (event.site.value == 0 || stack.empty()) return 0;
    const std::uint32_t function = owner_[event.site.value - 1];
    if (function != stack.back()) return 0;
    return event.site.value - run_.first_site(function);
  }
  void enter(const Event& event) {
    const std::uint32_t call = number(event);
    player_.engine().enter(player_.thread(event.thread), unit_.function(event.target - 1), call);
    stack_of(event.thread).push_back(event.target - 1);
  }
  bool access(const Event& event, const Event* next) {
    const std::uint32_t site = number(event);
    if (site == 0) return false;
    const unit::Site& its = run_.functions[stack_of(event.thread).back()].sites[site - 1];
    Thread& self = player_.thread(event.thread);
    const std::uint64_t address = player_.address_of(event.target);
    if (its.kind == unit::SiteKind::kReadWrite) {
      if (event.kind == EventKind::kRead) {
        return next != nullptr && next->kind == EventKind::kWrite && next->site == event.site &&
               next->thread == event.thread && next->target == event.target;
      }
      player_.engine().access(self, address, site);
    } else if (check::is_atomic(event)) {
      const Atomic what = event.kind == EventKind::kRead    ? Atomic::kLoad
                          : event.kind == EventKind::kWrite ? Atomic::kStore
                                                            : Atomic::kRmw;
      player_.engine().atomic(self, what, address, 8, order_of(check::order_of(event)), site);
    } else {
      player_.engine().access(self, address, site);
    }
    return true;
  }

  const MadeUpRun& run_;
  const MadeUpUnit& unit_;
  Player& player_;
  std::vector<std::uint32_t> owner_;
  std::map<ThreadId, std::vector<std::uint32_t>> stacks_;
};

}  // namespace

std::uint32_t MadeUpRun::first_site(std::size_t function) const {
  std::size_t first = 0;
  for (std::size_t i = 0; i < function; ++i) first += functions[i].sites.size();
  return static_cast<std::uint32_t>(first);
}

MadeUpRun random_run(std::uint64_t seed, bool crowded) {
  return Maker(seed, crowded).make();
}

std::string missed_finding(const MadeUpRun& run, std::span<const Event> events,
                           const Limits& limits, CandidateShares& shares) {
  const MadeUpUnit unit(run.functions, run.flows);
  Player player(limits);
  player.engine().announce(unit.header());
  if (!Run(run, unit, player).play(events)) return {};

  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  std::map<Key, std::vector<std::uint64_t>> reported;
  for (const SeenCandidate& seen : player.candidates) {
    const Candidate& candidate = seen.candidate;
    const auto function = static_cast<std::uint32_t>(candidate.function - unit.function(0));
    const std::uint32_t first = run.first_site(function);
    reported[{function + 1, first + candidate.from, first + candidate.to}].push_back(seen.event);
  }
  std::vector<Event> copy(events.begin(), events.end());
  Detector detector;
  detector.take(Batch{copy, 1}, run.trace.names);
  std::string missed;
  std::uint64_t all = 0;
  std::uint64_t some = 0;
  for (const Found& found : detector.found()) {
    if (found.judgement.tier < Tier::kLikely) continue;
    ++all;
    const EventNumber last = *std::ranges::max_element(found.events);
    const auto at = reported.find({found.function.value, found.from.value, found.to.value});
    // Of x++, the engine sees the write.
    const bool so =
        at != reported.end() &&
        (!limits.report_all || std::ranges::any_of(at->second, [&](std::uint64_t event) {
          return event == last || event == last + 1;
        }));
    if (so) {
      ++some;
    } else if (missed.empty()) {
      missed = fmt::format("{} by {} in {}, pattern {}: {} and {}, events {} {} {} {}",
                           name_of(found.judgement.tier), static_cast<int>(found.judgement.link),
                           run.trace.names.label(found.function), found.pattern,
                           run.trace.names.site(found.from), run.trace.names.site(found.to),
                           found.events[0], found.events[1], found.events[2], found.events[3]);
    }
  }
  shares.findings += all;
  shares.reported += some;
  shares.runs += all != 0 ? 1 : 0;
  shares.runs_found += some != 0 ? 1 : 0;
  shares.candidates += player.candidates.size();
  shares.dropped += player.counters().dropped;
  shares.resets += player.engine().resets();
  return missed;
}

std::optional<std::string> compare_candidates(std::uint64_t first, std::uint64_t count,
                                              bool crowded, CandidateShares& shares,
                                              bool stop_at_first,
                                              const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t kProgressEvery = 1000;
  for (std::uint64_t done = 0; done < count; ++done) {
    if (progress && done % kProgressEvery == 0) progress(done);
    const std::uint64_t seed = first + done;
    const MadeUpRun run = random_run(seed, crowded);
    Limits limits;
    limits.nodes = 1024;
    limits.objects = 64;
    limits.clock_entries = 1u << 14;
    limits.report_all = seed % 4 != 0;
    if (missed_finding(run, run.trace.events, limits, shares).empty() || !stop_at_first) continue;
    const check::SmallTrace small = check::shrink(run.trace, [&](std::span<const Event> events) {
      CandidateShares none;
      return !missed_finding(run, events, limits, none).empty();
    });
    std::string text = fmt::format("seed {}, shrunk: ", seed);
    CandidateShares none;
    text += missed_finding(run, small.events, limits, none) + "\n" + check::to_std(small);
    for (const unit::Flow& flow : run.flows) {
      text += fmt::format("{} -> {}: {}\n", run.trace.names.site(SiteId(flow.from + 1)),
                          run.trace.names.site(SiteId(flow.to + 1)), flow.how);
    }
    return text;
  }
  return std::nullopt;
}

}  // namespace syndrome::engine
