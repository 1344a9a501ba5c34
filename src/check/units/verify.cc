#include "check/units/verify.h"

#include <algorithm>
#include <array>
#include <vector>

#include "check/patterns.h"

namespace syndrome::check::units {
namespace sets = check::atomic_sets;
namespace {

std::vector<EventNumber> events_of(std::span<const Found> found) {
  std::vector<EventNumber> numbers;
  for (const Found& each : found) {
    for (const EventNumber number : each.events) {
      if (number != 0) numbers.push_back(number);
    }
  }
  return numbers;
}

}  // namespace

Verifier::Verifier(std::span<const Found> found) : witnesses_(events_of(found)) {
  for (const EventNumber number : events_of(found)) seen_.emplace(number, std::nullopt);
  for (const Found& each : found) {
    stacks_.watch(each.unit);
    stacks_.watch(each.other);
  }
}

void Verifier::take(const Batch& batch, const Names& names) {
  flow_.grow(names.layout());
  EventNumber number = batch.first;
  for (const Event& event : batch.events) {
    if ((event.flags & kDropped) == 0) (void)witnesses_.take(event, number);
    std::optional<Snapshot> snapshot = stacks_.take(event, number, names);
    if (snapshot) {
      if (const auto wanted = seen_.find(number); wanted != seen_.end()) {
        wanted->second = std::move(snapshot);
      }
    }
    ++number;
  }
}

std::optional<std::string> Verifier::reject(const Found& found) const {
  if (found.pattern == 0) return reject_cycle(found);
  if (found.pattern < 1 || found.pattern > sets::kPatternCount) return "there is no such pattern";
  const sets::Pattern& pattern = sets::pattern(found.pattern);
  std::array<std::vector<const Snapshot*>, 2> of;  // of the pattern's u and u'
  EventNumber last = 0;
  for (std::size_t i = 0; i < pattern.length; ++i) {
    const auto seen = seen_.find(found.events[i]);
    if (seen == seen_.end() || !seen->second) return "an event is no access";
    const Snapshot& snapshot = *seen->second;
    const sets::Step& step = pattern.steps[i];
    if (snapshot.number <= last) return "the events are not in order";
    last = snapshot.number;
    if (!sets::matches(step, snapshot.event.kind)) return "an event is of the wrong kind";
    if (snapshot.event.var() != (step.second ? found.second : found.first)) {
      return "an event is at another location";
    }
    of[step.other ? 1 : 0].push_back(&snapshot);
  }
  for (const auto& events : of) {
    for (const Snapshot* const each : events) {
      if (each->event.thread != events.front()->event.thread) return "a unit is of two threads";
    }
  }
  if (of[0].front()->event.thread == of[1].front()->event.thread) return "there is one thread";
  const std::vector<const Snapshot*>& unit = of[found.swapped ? 1 : 0];
  const std::vector<const Snapshot*>& other = of[found.swapped ? 0 : 1];
  const Snapshot& first = *unit.front();
  const Snapshot& second = *unit.back();
  if (auto why = reject_unit(found, first, second)) return why;
  if (other.size() == 2) {
    const auto shared = std::ranges::any_of(other.front()->held, [&](const auto& hold) {
      const auto later = other.back()->held.find(hold.first);
      return later != other.back()->held.end() && later->second == hold.second;
    });
    if (!shared && !innermost_common(*other.front(), *other.back())) {
      return "the other accesses are not in one activation";
    }
  }
  return reject_link(found, first, second);
}

std::optional<std::string> Verifier::reject_unit(const Found& found, const Snapshot& first,
                                                 const Snapshot& second) {
  const std::optional<std::size_t> common = innermost_common(first, second);
  if (!common || first.stack[*common].begin != found.unit) return "it is another activation";
  if (first.steps[*common] != found.from || second.steps[*common] != found.to) {
    return "the steps are others";
  }
  if (found.from == found.to) return "it is one step";
  if (first.forks != second.forks) return "the activation forks or joins in between";
  return std::nullopt;
}

/// Two edges, from u to v and back.
std::optional<std::string> Verifier::reject_cycle(const Found& found) const {
  std::array<const Snapshot*, 4> at{};
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto seen = seen_.find(found.events[i]);
    if (seen == seen_.end() || !seen->second) return "an event is no access";
    at[i] = &*seen->second;
  }
  const auto& [first, x, y, second] = at;
  if (first->event.thread != second->event.thread || x->event.thread != y->event.thread) {
    return "a unit is of two threads";
  }
  if (first->event.thread == x->event.thread) return "there is one thread";
  if (first->number >= x->number || y->number >= second->number) return "an edge leads back";
  if (first->event.var() != found.first || x->event.var() != found.first ||
      y->event.var() != found.second || second->event.var() != found.second) {
    return "an event is at another location";
  }
  if (x->event.kind == EventKind::kRead ||
      (y->event.kind == EventKind::kRead && second->event.kind == EventKind::kRead)) {
    return "an edge is no conflict";
  }
  const bool one_section = std::ranges::any_of(x->held, [&](const auto& hold) {
    const auto there = y->held.find(hold.first);
    return there != y->held.end() && there->second == hold.second;
  });
  if (!one_section) return "the other accesses are not in one critical section";
  if (auto why = reject_unit(found, *first, *second)) return why;
  return reject_link(found, *first, *second);
}

std::optional<std::string> Verifier::reject_link(const Found& found, const Snapshot& first,
                                                 const Snapshot& second) const {
  const std::uint32_t there = flow_.how(found.from, found.to);
  const std::uint32_t back = flow_.how(found.to, found.from);
  const auto wants = [](bool is) {
    return is ? std::optional<std::string>() : std::optional<std::string>("nothing connects them");
  };
  switch (found.judgement.link) {
    case Link::kNone: return wants(found.judgement.tier == Tier::kPossible);
    case Link::kData:
    case Link::kHandle: return wants((there & unit::kFlowData) != 0);
    case Link::kAddress: return wants((there & unit::kFlowAddress) != 0);
    case Link::kControl: return wants((there & unit::kFlowControl) != 0);
    case Link::kJoined: return wants(((there | back) & unit::kFlowJoined) != 0);
    case Link::kSource: return wants(((there | back) & unit::kFlowSource) != 0);
    case Link::kReset: return wants((there & unit::kFlowReset) != 0);
    case Link::kReread: return wants((there & unit::kFlowReread) != 0);
    case Link::kOther: return reject_other(found);
    case Link::kHold: {
      const auto since = first.held.find(found.lock);
      const auto still = second.held.find(found.lock);
      if (since == first.held.end() || still == second.held.end() ||
          since->second != still->second) {
        return "the lock is not held from the one to the other";
      }
      // Whoever comes in between, next after the first access.
      for (const EventNumber number : found.events) {
        const auto seen = seen_.find(number);
        if (number <= first.number || seen == seen_.end() || !seen->second) continue;
        if (seen->second->event.thread == first.event.thread) continue;
        if (seen->second->held.contains(found.lock)) continue;
        return std::nullopt;
      }
      return "the other one has the lock, too";
    }
  }
  return "it is connected in no way that there is";
}

/// The other thread's two accesses are connected.
std::optional<std::string> Verifier::reject_other(const Found& found) const {
  const sets::Pattern& pattern = sets::pattern(found.pattern);
  std::vector<const Snapshot*> others;
  for (std::size_t i = 0; i < pattern.length; ++i) {
    if (pattern.steps[i].other != found.swapped) others.push_back(&*seen_.at(found.events[i]));
  }
  if (others.size() != 2) return "the other thread has one access";
  const std::optional<std::size_t> common = innermost_common(*others[0], *others[1]);
  if (!common) return "the other accesses are not in one activation";
  const SiteId x = others[0]->steps[*common];
  const SiteId y = others[1]->steps[*common];
  constexpr std::uint32_t kThere = unit::kFlowJoined | unit::kFlowControl;
  if ((flow_.how(x, y) & kThere) != 0 || (flow_.how(y, x) & unit::kFlowJoined) != 0) {
    return std::nullopt;
  }
  return "nothing connects the other accesses";
}

void Verifier::add_witnesses(const Found& found, Finding& finding) const {
  std::vector<EventNumber> events(found.events.begin(), found.events.end());
  std::erase(events, 0);
  std::ranges::sort(events);
  witnesses_.add_to(finding, events);
  const ThreadId own = [&] {
    const EventNumber number = found.events[found.swapped ? 1 : 0];
    return seen_.at(number)->event.thread;
  }();
  for (Witness& witness : finding.witnesses) {
    witness.block = 0;
    witness.block_end = 0;
    const EventNumber begin = witness.event.thread == own ? found.unit : found.other;
    const auto seen = seen_.find(witness.number);
    if (seen == seen_.end() || !seen->second) continue;
    const auto running = std::ranges::find(seen->second->stack, begin, &Running::begin);
    if (running == seen->second->stack.end()) continue;
    witness.block = begin;
    witness.block_begin = running->enter;
    witness.block_end = stacks_.end_of(begin);
  }
}

}  // namespace syndrome::check::units
