#include "check/atomic_sets/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "check/patterns.h"

namespace syndrome::check::atomic_sets {
namespace {

/// Those of a pattern, or of the edges of a cycle.
std::vector<EventNumber> events_of(const Finding& finding) {
  std::vector<EventNumber> numbers = finding.events;
  for (const Edge& edge : finding.cycle) numbers.insert(numbers.end(), {edge.from, edge.to});
  return numbers;
}

std::vector<EventNumber> events_of(std::span<const Finding> findings) {
  std::vector<EventNumber> numbers;
  for (const Finding& finding : findings) {
    const std::vector<EventNumber> own = events_of(finding);
    numbers.insert(numbers.end(), own.begin(), own.end());
  }
  return numbers;
}

}  // namespace

Verifier::Verifier(std::span<const Finding> findings, const UnitOptions& options)
    : units_(options), witnesses_(events_of(findings)) {}

void Verifier::take(const Batch& batch, const Names& names) {
  EventNumber number = batch.first;
  for (const Event& event : batch.events) {
    if (satisfied()) return;
    if ((event.flags & kDropped) == 0) {
      const bool wanted = witnesses_.take(event, number);
      const std::span<const UnitsByDefinition::Assigned> accesses =
          units_.take(event, number, names);
      if (wanted) {
        Seen& seen = seen_[number];
        seen.kind = event.kind;
        for (const auto& access : accesses) {
          seen.in.push_back({access.where, units_.sets().name_of_set(access.where, names),
                             units_.sets().name_of_location(access.where.location, names),
                             access.unit, access.at});
          if (access.at == 0) continue;
          const bool is_new = unit_of_.try_emplace(access.at, Unit{access.first}).second;
          open_ += is_new ? 1 : 0;
        }
      }
      for (const EventNumber begin : units_.ended()) {
        const auto over = unit_of_.find(begin);
        if (over == unit_of_.end() || !over->second.open) continue;
        over->second.open = false;
        over->second.end = number;
        --open_;
      }
    }
    ++number;
  }
}

const Verifier::Seen::In* Verifier::find(EventNumber event, const Finding& finding) const {
  const auto first =
      seen_.find(finding.cycle.empty() ? finding.events.front() : finding.cycle.front().from);
  const auto seen = seen_.find(event);
  if (first == seen_.end() || seen == seen_.end()) return nullptr;
  // The first event names the set.
  const auto named = std::ranges::find(first->second.in, finding.set, &Seen::In::name);
  if (named == first->second.in.end()) return nullptr;
  const auto in = std::ranges::find(seen->second.in, named->where.set,
                                    [](const Seen::In& each) { return each.where.set; });
  return in == seen->second.in.end() ? nullptr : &*in;
}

std::optional<std::string> Verifier::reject(const Finding& finding) const {
  return finding.rule == kCycleRule ? reject_cycle(finding) : reject_pattern(finding);
}

std::optional<std::string> Verifier::reject_cycle(const Finding& finding) const {
  const std::size_t length = finding.cycle.size();
  if (length < 2 || finding.units.size() != length) return "not as many edges as units, or too few";
  const auto unit_of = [](const Seen::In& in) { return std::pair(in.unit.begin, in.at); };
  for (std::size_t i = 0; i < length; ++i) {
    const Edge& edge = finding.cycle[i];
    const Edge& next = finding.cycle[(i + 1) % length];
    if (edge.from >= edge.to) return fmt::format("event {} is not before {}", edge.from, edge.to);
    const Seen::In* const from = find(edge.from, finding);
    const Seen::In* const to = find(edge.to, finding);
    const Seen::In* const goes_on = find(next.from, finding);
    if (from == nullptr || to == nullptr || goes_on == nullptr) {
      return fmt::format("edge {}-{} is no access to {}", edge.from, edge.to, finding.set);
    }
    if (from->where != to->where) {
      return fmt::format("events {} and {} are at two locations", edge.from, edge.to);
    }
    if (seen_.at(edge.from).kind == EventKind::kRead &&
        seen_.at(edge.to).kind == EventKind::kRead) {
      return fmt::format("events {} and {} are reads", edge.from, edge.to);
    }
    if (unit_of(*from) == unit_of(*to)) {
      return fmt::format("events {} and {} are of one unit", edge.from, edge.to);
    }
    if (unit_of(*to) != unit_of(*goes_on)) {
      return fmt::format("events {} and {} are of two units", edge.to, next.from);
    }
    if (from->unit.begin != finding.units[i]) {
      return fmt::format("event {} is of the unit that begins at {}", edge.from, from->unit.begin);
    }
  }
  return std::nullopt;
}

std::optional<std::string> Verifier::reject_pattern(const Finding& finding) const {
  if (finding.pattern < 1 || finding.pattern > kPatternCount) return "there is no such pattern";
  const Pattern& wanted = pattern(finding.pattern);
  if (finding.events.size() != wanted.length ||
      finding.locations.size() != (wanted.two_locations() ? 2 : 1) || finding.units.size() != 2) {
    return "not as many events, locations or units as the pattern has";
  }
  if (wanted.two_locations() && finding.locations[0] == finding.locations[1]) {
    return "the two locations are one";
  }
  std::array<std::optional<ThreadId>, 2> threads;
  std::array<std::optional<EventNumber>, 2> began;  // the functions or blocks
  EventNumber last = 0;
  for (std::size_t i = 0; i < finding.events.size(); ++i) {
    const EventNumber event = finding.events[i];
    const Step& step = wanted.steps[i];
    if (event <= last) return fmt::format("event {} does not come after {}", event, last);
    last = event;
    const Seen::In* const in = find(event, finding);
    if (in == nullptr) return fmt::format("event {} is no access to {}", event, finding.set);
    if (!matches(step, seen_.at(event).kind)) {
      return fmt::format("event {} is no {}", event, step.write ? "write" : "read");
    }
    if (in->location != finding.locations[step.second ? 1 : 0]) {
      return fmt::format("event {} is at {}", event, in->location);
    }
    if (in->unit.begin != finding.units[step.other ? 1 : 0]) {
      return fmt::format("event {} is of the unit that begins at {}", event, in->unit.begin);
    }
    std::optional<EventNumber>& at = began[step.other ? 1 : 0];
    if (at && *at != in->at) return fmt::format("event {} is of another function", event);
    at = in->at;
    threads[step.other ? 1 : 0] = in->unit.thread;
  }
  if (threads[0] == threads[1]) return "the two units are of one thread";
  return std::nullopt;
}

void Verifier::add_witnesses(Finding& finding) const {
  witnesses_.add_to(finding, events_of(finding));
  for (Witness& witness : finding.witnesses) {
    witness.block = 0;
    witness.block_end = 0;
    const Seen::In* const in = find(witness.number, finding);
    if (in == nullptr || in->at == 0) continue;
    const auto unit = unit_of_.find(in->at);
    witness.block = in->at;
    witness.block_begin = unit->second.begin;
    witness.block_end = unit->second.end;
  }
}

}  // namespace syndrome::check::atomic_sets
