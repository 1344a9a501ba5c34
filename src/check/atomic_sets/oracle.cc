#include "check/atomic_sets/oracle.h"

#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "check/atomic_sets/definition.h"
#include "check/patterns.h"

namespace syndrome::check::atomic_sets {
namespace {

/// Two functions that go on behind a wait may have the same first access: what tells their units
/// apart is where the functions began.
using UnitKey = std::pair<EventNumber, EventNumber>;  // the unit's name, its function or block

/// An access to a location of a set.
struct Taken {
  UnitKey unit;
  ThreadId thread;  // of the unit
  std::uint32_t location = 0;
  EventKind kind = EventKind::kRead;
};

bool is_subsequence(const Pattern& pattern, const std::vector<Taken>& accesses, UnitKey unit,
                    UnitKey other, std::uint32_t first, std::uint32_t second) {
  std::size_t next = 0;
  for (const Taken& access : accesses) {
    const Step& step = pattern.steps[next];
    if (access.unit == (step.other ? other : unit) &&
        access.location == (step.second ? second : first) && matches(step, access.kind) &&
        ++next == pattern.length) {
      return true;
    }
  }
  return false;
}

std::map<std::uint32_t, std::vector<Taken>> accesses_by_set(std::span<const Event> events,
                                                            const Names& names,
                                                            const UnitOptions& options) {
  UnitsByDefinition units(options);
  std::map<std::uint32_t, std::vector<Taken>> by_set;
  EventNumber number = 0;
  for (const Event& event : events) {
    for (const auto& access : units.take(event, ++number, names)) {
      by_set[access.where.set].push_back(
          {{access.unit.begin, access.at}, access.unit.thread, access.where.location, event.kind});
    }
  }
  return by_set;
}

using Graph = std::map<UnitKey, std::set<UnitKey>>;

Graph conflicts(const std::vector<Taken>& accesses) {
  Graph after;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    for (std::size_t j = i + 1; j < accesses.size(); ++j) {
      const Taken& one = accesses[i];
      const Taken& two = accesses[j];
      const bool both_read = one.kind == EventKind::kRead && two.kind == EventKind::kRead;
      if (one.unit != two.unit && one.location == two.location && !both_read) {
        after[one.unit].insert(two.unit);
      }
    }
  }
  return after;
}

/// Takes away units that nothing follows until there are none: what is left is on a cycle, or leads
/// to one.
bool has_cycle(Graph after) {
  while (true) {
    bool removed = false;
    for (auto unit = after.begin(); unit != after.end();) {
      std::erase_if(unit->second, [&](const UnitKey& next) { return !after.contains(next); });
      removed = removed || unit->second.empty();
      unit = unit->second.empty() ? after.erase(unit) : std::next(unit);
    }
    if (after.empty() || !removed) return !after.empty();
  }
}

}  // namespace

std::set<std::uint32_t> unserializable_sets(std::span<const Event> events, const Names& names,
                                            const UnitOptions& options) {
  std::set<std::uint32_t> sets;
  for (const auto& [set, accesses] : accesses_by_set(events, names, options)) {
    if (has_cycle(conflicts(accesses))) sets.insert(set);
  }
  return sets;
}

std::set<Violation> oracle(std::span<const Event> events, const Names& names,
                           const UnitOptions& options) {
  std::set<Violation> violations;
  for (const auto& [set, accesses] : accesses_by_set(events, names, options)) {
    std::map<UnitKey, std::set<std::uint32_t>> locations;  // of each unit
    std::map<UnitKey, ThreadId> threads;
    for (const Taken& access : accesses) {
      locations[access.unit].insert(access.location);
      threads.emplace(access.unit, access.thread);
    }
    for (const auto& [unit, of_unit] : locations) {
      for (const auto& [other, of_other] : locations) {
        if (threads.at(unit) == threads.at(other)) continue;
        for (const std::uint32_t first : of_unit) {
          for (const std::uint32_t second : of_unit) {
            if (!of_other.contains(first) || !of_other.contains(second)) continue;
            for (const Pattern& pattern : kPatterns) {
              if (pattern.two_locations() == (first == second)) continue;
              if (is_subsequence(pattern, accesses, unit, other, first, second)) {
                violations.insert({set, pattern.number, unit.first, other.first, first, second});
              }
            }
          }
        }
      }
    }
  }
  return violations;
}

}  // namespace syndrome::check::atomic_sets
