#include "report/advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "check/patterns.h"
#include "report/pattern_words.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

constexpr std::size_t kNamed = 8;  // events or variables that a sentence can carry

bool is_access(EventKind op) {
  return target_space(op) == Space::kVariable;
}

/// The events of the cycle, or of the two that race, ascending, each once.
std::vector<const Site*> told_sites(const Finding& finding) {
  std::vector<const Site*> sites;
  for (const EventNumber event : finding.events) {
    if (const Site* site = finding.site_at(event)) sites.push_back(site);
  }
  for (const check::Edge& edge : finding.cycle) {
    for (const EventNumber event : {edge.from, edge.to}) {
      if (const Site* site = finding.site_at(event)) sites.push_back(site);
    }
  }
  std::ranges::sort(sites, {}, &Site::event);
  const auto rest = std::ranges::unique(sites);
  sites.erase(rest.begin(), rest.end());
  return sites;
}

/// "4", "4 and 9", "4, 9 and 12"
template <class Range>
std::string enumerate(const Range& items) {
  std::vector<std::string> words;
  for (const auto& item : items) {
    if (words.size() == kNamed) {
      words.emplace_back("others");
      break;
    }
    words.push_back(fmt::format("{}", item));
  }
  if (words.empty()) return {};
  const std::string last = std::move(words.back());
  words.pop_back();
  return words.empty() ? last : fmt::format("{} and {}", fmt::join(words, ", "), last);
}

/// A lock that every one of the sites holds.
std::optional<std::string> common_lock(const std::vector<const Site*>& sites) {
  if (sites.empty()) return std::nullopt;
  for (const std::string& lock : sites.front()->locks) {
    const bool everywhere = std::ranges::all_of(sites, [&lock](const Site* site) {
      return std::ranges::find(site->locks, lock) != site->locks.end();
    });
    if (everywhere) return lock;
  }
  return std::nullopt;
}

}  // namespace

std::string locks_held(const Finding& finding) {
  std::vector<std::pair<std::string, std::vector<EventNumber>>> groups;
  for (const Site* site : told_sites(finding)) {
    const std::string locks = site->locks.empty() ? "none" : enumerate(site->locks);
    auto group = std::ranges::find(groups, locks, &decltype(groups)::value_type::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {locks, {}});
    group->second.push_back(site->event);
  }
  if (groups.size() == 1 && groups[0].first == "none") return "none at any of these events";
  std::vector<std::string> parts;
  for (const auto& [locks, events] : groups) {
    if (parts.size() == kNamed) break;
    parts.push_back(fmt::format("{} at {} {}", locks, events.size() == 1 ? "event" : "events",
                                enumerate(events)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Of a race.
std::string ordering_fix(const Finding& finding) {
  const std::vector<const Site*> sites = told_sites(finding);
  if (sites.size() != 2) return {};
  const Site& earlier = *sites[0];
  const Site& later = *sites[1];
  const std::string& variable = earlier.target;
  for (const auto& [with, without] : {std::pair(&earlier, &later), std::pair(&later, &earlier)}) {
    if (!with->locks.empty() && without->locks.empty()) {
      return fmt::format("Hold lock {} at event {}, too, as event {} does.", with->locks.back(),
                         without->event, with->event);
    }
  }
  if (const std::optional<std::string> lock = common_lock(sites)) {
    return fmt::format(
        "Both hold lock {}, but not so that one keeps the other out: a reader's hold does not. "
        "Write under the exclusive lock.",
        *lock);
  }
  if (!earlier.locks.empty()) {
    return fmt::format("The two hold different locks, {} and {}: hold one and the same at both.",
                       enumerate(earlier.locks), enumerate(later.locks));
  }
  return fmt::format(
      "Hold one lock at both, and at every other access to {}; or make {} atomic; or let one "
      "thread hand it over to the other (join, semaphore, condition with its mutex).",
      variable, variable);
}

/// Of a conflict in a block.
std::string parting_fix(const Finding& finding) {
  const Site* const site = finding.site_at(finding.events.front());
  if (site == nullptr) return {};
  if (is_access(site->op)) {
    return fmt::format(
        "Give each thread a {} of its own and put them together after the join; or let a barrier "
        "or a semaphore order the two. A lock or an atomic is not enough: who comes first would "
        "still be up to the schedule.",
        site->target);
  }
  if (site->op == EventKind::kWait) {
    return fmt::format("Give each of the two threads a semaphore of its own instead of {}.",
                       site->target);
  }
  return fmt::format(
      "Give each thread data of its own instead of what lock {} protects, and put it together "
      "after the join; or let a barrier or a semaphore say whose turn it is.",
      site->target);
}

/// Between two events of `name`, one lock for all of these accesses.
std::string holding_fix(const std::string& name, EventNumber from, EventNumber to,
                        const std::vector<const Site*>& accesses,
                        const std::vector<std::string>& variables) {
  if (const std::optional<std::string> lock = common_lock(accesses)) {
    return fmt::format(
        "Every access above holds lock {}, but {} lets go of it between event {} and event {}. "
        "Hold {} from the one to the other.",
        *lock, name, from, to, *lock);
  }
  return fmt::format(
      "Hold one lock in {} from event {} to event {}, the same one that every other access to {} "
      "holds.",
      name, from, to, enumerate(variables));
}

/// Of a pattern.
std::string keeping_fix(const Finding& finding) {
  const auto& pattern = check::atomic_sets::pattern(finding.pattern);
  EventNumber last = 0;
  for (std::size_t i = 0; i < pattern.length; ++i) {
    if (!pattern.steps[i].other) last = finding.events[i];
  }
  const Site* const first = finding.site_at(finding.events.front());
  return holding_fix(transaction_words(finding, *first), first->event, last, told_sites(finding),
                     finding.locations);
}

/// Of a cycle of units: the one that it was closed by, from where the cycle leaves it.
std::string set_cycle_fix(const Finding& finding) {
  return holding_fix(set_cycle_unit(finding, 0), finding.cycle.front().from,
                     finding.cycle.back().to, told_sites(finding), finding.locations);
}

std::string usual_fix(const Finding& finding) {
  if (is_set_cycle(finding)) return set_cycle_fix(finding);
  if (is_pattern(finding)) return keeping_fix(finding);
  if (finding.rule == "race") return ordering_fix(finding);
  if (finding.rule == "conflict-in-block") return parting_fix(finding);
  const Block* block = finding.block_at(finding.block);
  if (block == nullptr || finding.cycle.empty()) return {};
  const std::string name = block_words(finding, *block);
  const EventNumber leaves = finding.cycle.front().from;
  const EventNumber returns = finding.cycle.back().to;
  const std::vector<const Site*> sites = told_sites(finding);

  // The block itself gave up a lock in the middle, and others took it.
  const Site* left = finding.site_at(leaves);
  const Site* back = finding.site_at(returns);
  if (left == nullptr || back == nullptr) return {};
  if (target_space(left->op) == Space::kLock && target_space(back->op) == Space::kLock &&
      left->target == back->target) {
    return fmt::format(
        "{} gives up lock {} at event {} and takes it again at event {}; others can come in "
        "between. Hold {} from the first use to the last.",
        name, left->target, leaves, returns, left->target);
  }
  std::vector<const Site*> accesses;
  std::vector<std::string> variables;
  for (const Site* site : sites) {
    if (!is_access(site->op)) continue;
    accesses.push_back(site);
    if (std::ranges::find(variables, site->target) == variables.end()) {
      variables.push_back(site->target);
    }
  }
  if (accesses.empty()) {
    return fmt::format("Let one lock cover {} from event {} to event {}.", name, leaves, returns);
  }
  std::string fix = holding_fix(name, leaves, returns, accesses, variables);
  if (common_lock(accesses)) return fix;
  if (variables.size() == 1 && left->op == EventKind::kRead && back->op == EventKind::kWrite) {
    fix += " For a single number, one atomic operation (fetch_add, compare_exchange) does it too.";
  }
  return fix;
}

}  // namespace syndrome::report
