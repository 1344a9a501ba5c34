#include "check/determinism/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "check/determinism/conflicts.h"

namespace syndrome::check::determinism {
namespace {

std::vector<EventNumber> numbers_of(const Finding& finding) {
  std::vector<EventNumber> numbers = finding.events;
  numbers.push_back(finding.block);
  for (const Edge& edge : finding.cycle) {
    numbers.push_back(edge.from);
    numbers.push_back(edge.to);
  }
  return numbers;
}

std::vector<EventNumber> numbers_of(const std::vector<Finding>& findings) {
  std::vector<EventNumber> numbers;
  for (const Finding& finding : findings) {
    const std::vector<EventNumber> more = numbers_of(finding);
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  return numbers;
}

}  // namespace

Verifier::Verifier(const std::vector<Finding>& findings, BlockRule rule)
    : witnesses_(numbers_of(findings)), rule_(std::move(rule)) {
  for (const Finding& finding : findings) {
    if (finding.rule != kConflictRule || finding.events.size() != 2) continue;
    Followed& followed = followed_[key_of(finding)];
    followed.block = finding.block;
    followed.later = finding.events[1];
    starts_.emplace(finding.events[0], key_of(finding));
  }
}

void Verifier::take(const Batch& batch, const Names& names) {
  EventNumber n = batch.first;
  for (const Event& e : batch.events) {
    if (satisfied()) return;
    const EventNumber number = n++;
    if ((e.flags & kDropped) != 0) continue;
    blocks_.enter(e, number, names, rule_);
    std::uint64_t round = 0;
    EventNumber post = 0;
    switch (e.kind) {
      case EventKind::kBarrierArrive: round = rounds_.arrive(e.thread, e.barrier()); break;
      case EventKind::kBarrierLeave: round = rounds_.leave(e.thread, e.barrier()); break;
      case EventKind::kPost: posts_[e.target].push_back(number); break;
      case EventKind::kWait:
        if (std::deque<EventNumber>& queue = posts_[e.target]; !queue.empty()) {
          post = queue.front();
          queue.pop_front();
        }
        break;
      default: break;
    }
    if (witnesses_.take(e, number)) {
      Around& here = around_[number];
      here = around(e.thread);
      here.round = round;
      for (const auto& [begin, event] : here.blocks) {
        if (!ends_.contains(begin)) open_.insert(begin);
      }
    }
    follow(e, number, round, post);
    if (const BlockIndex closing = blocks_.closing(); closing != kNoBlock) {
      for (BlockIndex b = blocks_.innermost(e.thread); b != kNoBlock; b = blocks_[b].parent) {
        if (open_.erase(blocks_[b].begin) != 0) ends_.emplace(blocks_[b].begin, number);
        if (b == closing) break;
      }
    }
    blocks_.leave(e);
  }
}

// --- conflicts

void Verifier::follow(const Event& e, EventNumber n, std::uint64_t round, EventNumber post) {
  for (auto [at, last] = starts_.equal_range(n); at != last; ++at) {
    Followed& followed = followed_[at->second];
    followed.threads.insert(e.thread);
    active_.push_back(&followed);
  }
  if (active_.empty() || blocks_.innermost(e.thread) == kNoBlock) return;
  if (e.flags != 0) return;
  std::erase_if(active_, [&](Followed* followed) {
    for (BlockIndex b = blocks_.innermost(e.thread); b != kNoBlock; b = blocks_[b].parent) {
      if (blocks_[b].begin == followed->block) step(*followed, e, n, round, post);
    }
    return n >= followed->later;
  });
}

/// The next event of the block.
void Verifier::step(Followed& followed, const Event& e, EventNumber n, std::uint64_t round,
                    EventNumber post) {
  const bool after = followed.threads.contains(e.thread);
  switch (e.kind) {
    case EventKind::kFork:
      if (after) followed.threads.insert(e.child());
      break;
    case EventKind::kJoin:
      if (followed.threads.contains(e.child())) followed.threads.insert(e.thread);
      break;
    case EventKind::kBarrierArrive:
      if (after) followed.rounds.insert({e.target, round});
      break;
    case EventKind::kBarrierLeave:
      if (followed.rounds.contains({e.target, round})) followed.threads.insert(e.thread);
      break;
    case EventKind::kPost:
      if (after) followed.posts.insert(n);
      break;
    case EventKind::kWait:
      if (followed.posts.contains(post)) followed.threads.insert(e.thread);
      break;
    case EventKind::kHappensBefore:
      if (after) followed.home_made.insert(e.target);
      break;
    case EventKind::kHappensAfter:
      if (followed.home_made.contains(e.target)) followed.threads.insert(e.thread);
      break;
    default: break;
  }
  if (n != followed.later) return;
  followed.over = true;
  followed.ordered = followed.threads.contains(e.thread);
}

std::optional<std::string> Verifier::reject_conflict(const Finding& finding) const {
  if (finding.events.size() != 2) return "a conflict has two events";
  const Witness* const earlier = witnesses_.find(finding.events[0]);
  const Witness* const later = witnesses_.find(finding.events[1]);
  if (earlier == nullptr || later == nullptr) return "an event is not in the trace";
  if (earlier->number >= later->number) return "the events are not in order";
  if (!find(earlier->number)->has(finding.block) || !find(later->number)->has(finding.block)) {
    return fmt::format("one of the events is not in the block that begins at {}", finding.block);
  }
  if (!compete(earlier->event, later->event)) return "the events do not conflict";
  const auto followed = followed_.find(key_of(finding));
  if (followed == followed_.end() || !followed->second.over) return "the events were not followed";
  if (followed->second.ordered) return "the events are ordered inside of the block";
  return std::nullopt;
}

// --- cycles

bool Verifier::Around::has(EventNumber block) const {
  return std::ranges::any_of(blocks, [&](const auto& each) { return each.first == block; });
}

Verifier::Around Verifier::around(ThreadId thread) const {
  Around result;
  for (BlockIndex b = blocks_.innermost(thread); b != kNoBlock; b = blocks_[b].parent) {
    result.blocks.emplace_back(blocks_[b].begin, blocks_[b].begin_event);
  }
  std::ranges::reverse(result.blocks);
  return result;
}

const Verifier::Around* Verifier::find(EventNumber number) const {
  const auto at = around_.find(number);
  return at == around_.end() ? nullptr : &at->second;
}

/// The outermost block around the event that is not around the block, or the event itself.
EventNumber Verifier::transaction(EventNumber number, const Around& around,
                                  const Around& of_block) {
  for (const auto& [begin, event] : around.blocks) {
    const bool dissolved = of_block.has(begin) && begin != of_block.blocks.back().first;
    if (!dissolved) return begin;
  }
  return number;
}

std::optional<std::string> Verifier::reject_cycle(const Finding& finding) const {
  if (finding.cycle.size() < 2) return "a cycle has at least two edges";
  const Around* const block = find(finding.block);
  if (block == nullptr || block->blocks.empty() || block->blocks.back().first != finding.block) {
    return fmt::format("event {} does not begin a block", finding.block);
  }
  std::vector<EventNumber> visited;
  for (std::size_t i = 0; i < finding.cycle.size(); ++i) {
    const Edge& edge = finding.cycle[i];
    const Edge& next = finding.cycle[(i + 1) % finding.cycle.size()];
    const Witness* const from = witnesses_.find(edge.from);
    const Witness* const to = witnesses_.find(edge.to);
    if (from == nullptr || to == nullptr || find(next.from) == nullptr) {
      return "an event is not in the trace";
    }
    if (edge.from >= edge.to) return fmt::format("{} does not come before {}", edge.from, edge.to);
    const Around& from_around = *find(edge.from);
    const Around& to_around = *find(edge.to);
    const EventNumber source = transaction(edge.from, from_around, *block);
    const EventNumber target = transaction(edge.to, to_around, *block);
    if (source == target) {
      return fmt::format("{} and {} are in one transaction", edge.from, edge.to);
    }
    if (from->event.thread != to->event.thread &&
        !conflicts(from->event, to->event, from_around.round, to_around.round)) {
      return fmt::format("{} and {} do not conflict", edge.from, edge.to);
    }
    if (target != transaction(next.from, *find(next.from), *block)) {
      return fmt::format("{} and {} are not in one transaction", edge.to, next.from);
    }
    visited.push_back(source);
  }
  if (visited.front() != finding.block) return "the cycle does not begin in the block";
  std::ranges::sort(visited);
  if (std::ranges::adjacent_find(visited) != visited.end()) {
    return "the cycle passes through a transaction twice";
  }
  if (finding.cycle.front().from >= finding.cycle.back().to) {
    return "the cycle does not come back to the block later than it left it";
  }
  return std::nullopt;
}

std::optional<std::string> Verifier::reject(const Finding& finding) const {
  if (finding.rule == kConflictRule) return reject_conflict(finding);
  if (finding.rule == kCycleRule) return reject_cycle(finding);
  return "there is no such rule";
}

void Verifier::add_witnesses(Finding& finding) const {
  witnesses_.add_to(finding, numbers_of(finding));
  const Around* const block = find(finding.block);
  if (block == nullptr) return;
  for (Witness& witness : finding.witnesses) {
    const Around& around = *find(witness.number);
    const EventNumber in = transaction(witness.number, around, *block);
    witness.block = 0;
    witness.block_end = 0;
    for (const auto& [begin, event] : around.blocks) {
      if (begin != in) continue;
      witness.block = begin;
      witness.block_begin = event;
    }
    const auto end = ends_.find(witness.block);
    if (end != ends_.end()) witness.block_end = end->second;
  }
}

}  // namespace syndrome::check::determinism
