#include "check/atomicity/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace syndrome::check {

CycleVerifier::CycleVerifier(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    wanted_.push_back(finding.block);
    for (const Edge& edge : finding.cycle) {
      wanted_.push_back(edge.from);
      wanted_.push_back(edge.to);
    }
  }
  std::sort(wanted_.begin(), wanted_.end());
  wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
  seen_.reserve(wanted_.size());
}

void CycleVerifier::take(const Batch& batch) {
  EventNumber number = batch.first;
  for (const Event& event : batch.events) {
    if (satisfied()) return;
    if ((event.flags & kDropped) == 0) {
      if (event.thread.index() >= threads_.size()) threads_.resize(event.thread.index() + 1);
      follow(event, number, threads_[event.thread.index()]);
    }
    ++number;
  }
}

void CycleVerifier::follow(const Event& event, EventNumber number, ThreadState& state) {
  const bool outermost = (event.flags & kNested) == 0;
  std::uint64_t round = 0;
  if (outermost) {
    switch (event.kind) {
      case EventKind::kBegin:
        state.block = number;
        state.block_begin = event;
        break;
      case EventKind::kAcquire:
      case EventKind::kAcquireShared: state.locks.push_back(event.lock()); break;
      case EventKind::kBarrierArrive: round = rounds_.arrive(event.thread, event.barrier()); break;
      case EventKind::kBarrierLeave: round = rounds_.leave(event.thread, event.barrier()); break;
      default: break;
    }
  }
  if (next_ < wanted_.size() && wanted_[next_] == number) {
    Seen seen;
    seen.number = number;
    seen.event = event;
    seen.block = state.block;
    seen.block_begin = state.block_begin;
    seen.locks = state.locks;
    seen.round = round;
    seen_.push_back(std::move(seen));
    ++next_;
    if (state.block != 0 && !state.of_interest) {
      state.of_interest = true;
      ++open_;
    }
  }
  if (!outermost) return;
  if (event.kind == EventKind::kEnd) {
    if (state.of_interest) {
      ends_.emplace(state.block, number);
      state.of_interest = false;
      --open_;
    }
    state.block = 0;
  } else if (event.kind == EventKind::kRelease || event.kind == EventKind::kReleaseShared) {
    const auto held = std::find(state.locks.rbegin(), state.locks.rend(), event.lock());
    if (held != state.locks.rend()) state.locks.erase(std::next(held).base());
  }
}

const CycleVerifier::Seen* CycleVerifier::find(EventNumber number) const {
  const auto at =
      std::lower_bound(seen_.begin(), seen_.end(), number,
                       [](const Seen& seen, EventNumber wanted) { return seen.number < wanted; });
  return at != seen_.end() && at->number == number ? &*at : nullptr;
}

std::optional<std::string> CycleVerifier::reject(const Finding& finding) const {
  if (finding.cycle.size() < 2) return "a cycle has at least two edges";
  std::vector<EventNumber> visited;
  for (std::size_t i = 0; i < finding.cycle.size(); ++i) {
    const Edge& edge = finding.cycle[i];
    const Edge& next = finding.cycle[(i + 1) % finding.cycle.size()];
    const Seen* const from = find(edge.from);
    const Seen* const to = find(edge.to);
    const Seen* const onward = find(next.from);
    if (from == nullptr || to == nullptr || onward == nullptr)
      return "an event is not in the trace";
    if (edge.from >= edge.to) return fmt::format("{} does not come before {}", edge.from, edge.to);
    if (from->transaction() == to->transaction()) {
      return fmt::format("{} and {} are in one transaction", edge.from, edge.to);
    }
    if (from->event.thread != to->event.thread &&
        !conflicts(from->event, to->event, from->round, to->round)) {
      return fmt::format("{} and {} do not conflict", edge.from, edge.to);
    }
    if (to->transaction() != onward->transaction()) {
      return fmt::format("{} and {} are not in one transaction", edge.to, next.from);
    }
    visited.push_back(from->transaction());
  }
  if (visited.front() != finding.block || find(finding.block)->block != finding.block) {
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
  std::vector<EventNumber> numbers = {finding.block};
  for (const Edge& edge : finding.cycle) {
    numbers.push_back(edge.from);
    numbers.push_back(edge.to);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  finding.witnesses.clear();
  for (const EventNumber number : numbers) {
    const Seen* const seen = find(number);
    if (seen == nullptr) continue;
    finding.witnesses.push_back(*seen);
    const auto end = ends_.find(seen->block);
    if (end != ends_.end()) finding.witnesses.back().block_end = end->second;
  }
}

}  // namespace syndrome::check
