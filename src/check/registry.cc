#include "check/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "check/atomic_sets/atomic_sets.h"
#include "check/atomicity/atomicity.h"
#include "check/count/count.h"
#include "check/determinism/determinism.h"
#include "check/nondeterminism/nondeterminism.h"
#include "check/print/print.h"
#include "check/races/races.h"
#include "spec/nearest.h"

namespace syndrome::check {
namespace {

constexpr std::array<std::string_view, 3> kAtomicityEngines = {"reach", "aerodrome", "velodrome"};

constexpr std::array<Rule, 1> kAtomicityRules = {{
    {"conflict-cycle", "a block did not run as if alone",
     "Another thread came between two steps of a block, in such a way that no order in which the "
     "blocks run one after the other gives the same result. Each edge of the cycle is a pair of "
     "conflicting operations (two accesses to one variable, one of them a write; a release and the "
     "next acquire of a lock; fork and join), and says which of two blocks must come first; "
     "together they ask the block to come before itself. Usual fix: hold one lock for the whole "
     "block, and at every other access to the data that it uses."},
}};

constexpr std::array<Rule, 1> kRacesRules = {{
    {"race", "two threads access one variable, and nothing orders them",
     "Two threads access the same variable, at least one of them writes, at least one is not "
     "atomic, and no lock, fork, join, barrier, semaphore or atomic with release and acquire leads "
     "from the one access to the other. In C and C++ such a program has no defined meaning, "
     "whatever it did in this run. Usual fix: hold the same lock at both, or make the variable "
     "atomic."},
}};

constexpr std::array<Rule, 2> kDeterminismRules = {{
    {"conflict-in-block", "two threads of one deterministic block are in each other's way",
     "Two operations of one deterministic block conflict (two accesses to one variable, one of "
     "them "
     "a write; two acquires of one lock; two waits for one semaphore), and nothing inside of the "
     "block orders them: which one comes first, and so the result, is up to the schedule. Locks "
     "and atomics keep threads apart but do not say who comes first. Usual fix: give each thread "
     "data of its own and put it together after the join, or let a barrier or a semaphore order "
     "the two."},
    {"external-cycle", "someone outside interferes with a deterministic block",
     "What the threads of a deterministic block do, taken together, did not run as if alone: "
     "another thread came in between, in such a way that no order in which the blocks run one "
     "after the other gives the same result. Usual fix: hold one lock for the whole block, and at "
     "every other access to the data that it uses; or join the threads that the block forks before "
     "it ends."},
}};

constexpr std::array<Rule, 2> kAtomicSetsRules = {{
    {"pattern", "data that belongs together was not seen together",
     "A unit of work (a function or block that keeps data consistent) and another thread's unit of "
     "work accessed the same data, or two data that belong to one atomic set, in an order that no "
     "execution of the two one after the other gives: a value was stale, lost or half updated. The "
     "14 orders are those of Hammer, Dolby, Vaziri and Tip (ICSE 2008). Usual fix: hold one lock "
     "for the whole unit, the same one at every access to the set. When the data does not belong "
     "together, or the function is no unit, the spec can say so."},
    {"set-cycle", "units of work did not run as if one after the other on an atomic set",
     "Units of work (functions or blocks that keep data consistent) accessed the data of one "
     "atomic set in an order that no execution of whole units one after the other gives, and none "
     "of the 14 patterns of two units explains it: three or more units are involved, or two units "
     "that each read what the other one writes (write skew). Each edge of the cycle is a pair of "
     "conflicting accesses to one location, and says which of two units must come first; together "
     "they ask each unit to come before itself. Usual fix: hold one lock for the whole of each "
     "unit, the same one at every access to the set."},
}};

constexpr std::array<Rule, 2> kNondeterminismRules = {{
    {"nondeterministic-read", "a read could read another write in another schedule",
     "The same events, in another order that the program's threads, locks and signals allow, lead "
     "up to this read with every read before it reading what it read in this run; and then another "
     "write is the last one. So which value the program sees here is up to the schedule, whether "
     "or not the accesses are locked. The schedule is a proof, step by step. Usual fix: where the "
     "result must not depend on it, let a join, barrier or semaphore order the two writes and the "
     "read, or give each thread data of its own."},
    {"unsettled-final-value", "a variable could end with another write in another schedule",
     "All events of this run, in another order that the program's threads, locks and signals allow "
     "and in which every read reads what it read in this run, leave another write as the last one "
     "to this variable. Whoever looks at it after the run sees what the schedule decided. Usual "
     "fix: let a join, barrier or semaphore order the two writes."},
}};

constexpr Registration kRegistry[] = {
    {"atomicity", "every block runs as if alone (conflict serializability)", make_atomicity,
     kAtomicityEngines, kAtomicityRules},
    {"races",
     "no two threads access a variable without order (happens-before)",
     make_races,
     {},
     kRacesRules},
    {"determinism",
     "deterministic blocks give the same result under every schedule (SingleTrack)",
     make_determinism,
     {},
     kDeterminismRules},
    {"atomic-sets",
     "units of work see and leave each atomic set consistent (atomic-set serializability)",
     make_atomic_sets,
     {},
     kAtomicSetsRules},
    {"nondeterminism",
     "every read reads the same write in every order of the same events (predictive)",
     make_nondeterminism,
     {},
     kNondeterminismRules},
    {"count", "counts events by kind; always clean", make_count, {}, {}, true},
    {"print", "prints every event; always clean", make_print, {}, {}, true},
};

std::string names_of_checks() {
  std::vector<std::string_view> names;
  for (const Registration& entry : kRegistry) {
    if (!entry.asked_for_by_name_only) names.push_back(entry.name);
  }
  names.emplace_back("all");
  return fmt::format("{}", fmt::join(names, ", "));
}

/// " (did you mean 'atomicity'?)", or nothing when no name is close.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known) {
  const std::string_view close = spec::nearest(name, known);
  return close.empty() ? std::string() : fmt::format(" (did you mean '{}'?)", close);
}

}  // namespace

std::span<const Registration> registry() {
  return kRegistry;
}

const Registration* find(std::string_view name) {
  const auto* const entry = std::ranges::find(kRegistry, name, &Registration::name);
  return entry == std::end(kRegistry) ? nullptr : entry;
}

Result<std::vector<const Registration*>> parse_checks(std::string_view list) {
  std::vector<const Registration*> checks;
  const auto add = [&checks](const Registration& entry) {
    if (std::ranges::find(checks, &entry) == checks.end()) checks.push_back(&entry);
  };
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    if (name == "all") {
      for (const Registration& entry : kRegistry) {
        if (!entry.asked_for_by_name_only) add(entry);
      }
    } else if (const Registration* entry = find(name)) {
      add(*entry);
    } else if (name.empty()) {
      return Error{
          fmt::format("--check: expected a name, found nothing before or after a comma; "
                      "this version has: {}",
                      names_of_checks())};
    } else {
      std::vector<std::string_view> known = {"all"};
      for (const Registration& other : kRegistry) known.push_back(other.name);
      return Error{fmt::format("--check: there is no check '{}'{}; this version has: {}", name,
                               did_you_mean(name, known), names_of_checks())};
    }
    if (comma == std::string_view::npos) return checks;
    list.remove_prefix(comma + 1);
  }
}

std::vector<const Registration*> default_checks(bool recorded) {
  if (!recorded) return {find("atomicity")};
  return {find("races"), find("atomic-sets"), find("atomicity"), find("determinism")};
}

Status has_engine(std::span<const Registration* const> checks, std::string_view engine) {
  if (engine.empty()) return {};
  std::vector<std::string_view> engines;
  for (const Registration* entry : checks) {
    engines.insert(engines.end(), entry->engines.begin(), entry->engines.end());
  }
  if (std::ranges::find(engines, engine) != engines.end()) return {};
  if (engines.empty()) {
    return Error{"--engine: none of the requested checks has engines to choose from; leave it out"};
  }
  return Error{fmt::format("--engine: there is no engine '{}'{}; there are: {}", engine,
                           did_you_mean(engine, engines), fmt::join(engines, ", "))};
}

}  // namespace syndrome::check
