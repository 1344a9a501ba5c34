#include "check/atomicity/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace syndrome::check {

namespace {

/// Every event that the finding speaks of.
std::vector<EventNumber> events_of(const Finding& finding) {
  std::vector<EventNumber> numbers = {finding.block};
  for (const Edge& edge : finding.cycle) {
    numbers.push_back(edge.from);
    numbers.push_back(edge.to);
  }
  return numbers;
}

std::vector<EventNumber> events_of(const std::vector<Finding>& findings) {
  std::vector<EventNumber> numbers;
  for (const Finding& finding : findings) {
    const std::vector<EventNumber> more = events_of(finding);
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  return numbers;
}

}  // namespace

CycleVerifier::CycleVerifier(const std::vector<Finding>& findings)
    : witnesses_(events_of(findings)) {}

void CycleVerifier::take(const Batch& batch) {
  EventNumber number = batch.first;
  for (const Event& event : batch.events) {
    if (satisfied()) return;
    if ((event.flags & kDropped) == 0) {
      std::uint64_t round = 0;
      if (event.kind == EventKind::kBarrierArrive) {
        round = rounds_.arrive(event.thread, event.barrier());
      } else if (event.kind == EventKind::kBarrierLeave) {
        round = rounds_.leave(event.thread, event.barrier());
      }
      if (witnesses_.take(event, number) && round != 0) round_of_.emplace(number, round);
    }
    ++number;
  }
}

std::optional<CycleVerifier::Seen> CycleVerifier::find(EventNumber number) const {
  const Witness* const witness = witnesses_.find(number);
  if (witness == nullptr) return std::nullopt;
  const auto round = round_of_.find(number);
  return Seen{witness, round == round_of_.end() ? 0 : round->second};
}

std::optional<std::string> CycleVerifier::reject(const Finding& finding) const {
  if (finding.cycle.size() < 2) return "a cycle has at least two edges";
  std::vector<EventNumber> visited;
  for (std::size_t i = 0; i < finding.cycle.size(); ++i) {
    const Edge& edge = finding.cycle[i];
    const Edge& next = finding.cycle[(i + 1) % finding.cycle.size()];
    const std::optional<Seen> from = find(edge.from);
    const std::optional<Seen> to = find(edge.to);
    const std::optional<Seen> onward = find(next.from);
    if (!from || !to || !onward) return "an event is not in the trace";
    if (edge.from >= edge.to) return fmt::format("{} does not come before {}", edge.from, edge.to);
    if (from->transaction() == to->transaction()) {
      return fmt::format("{} and {} are in one transaction", edge.from, edge.to);
    }
    const Event& first = from->witness->event;
    const Event& second = to->witness->event;
    if (first.thread != second.thread && !conflicts(first, second, from->round, to->round)) {
      return fmt::format("{} and {} do not conflict", edge.from, edge.to);
    }
    if (to->transaction() != onward->transaction()) {
      return fmt::format("{} and {} are not in one transaction", edge.to, next.from);
    }
    visited.push_back(from->transaction());
  }
  if (visited.front() != finding.block || find(finding.block)->witness->block != finding.block) {
    return fmt::format("event {} does not begin the block that the cycle leaves", finding.block);
  }
  std::sort(visited.begin(), visited.end());
  if (std::adjacent_find(visited.begin(), visited.end()) != visited.end()) {
    return "the cycle passes through a transaction twice";
  }
  if (finding.cycle.front().from >= finding.cycle.back().to) {
    return "the cycle does not come back to the block later than it left it";
  }
  return std::nullopt;
}

void CycleVerifier::add_witnesses(Finding& finding) const {
  witnesses_.add_to(finding, events_of(finding));
}

}  // namespace syndrome::check
