#include "check/atomic_sets/oracle.h"

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

}  // namespace

std::set<Violation> oracle(std::span<const Event> events, const Names& names,
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
  std::set<Violation> violations;
  for (const auto& [set, accesses] : by_set) {
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
