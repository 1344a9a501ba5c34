#include "check/determinism/crossings.h"

#include <algorithm>

namespace syndrome::check::determinism {

void Crossings::start(const Names& names) {
  started_ = true;
  for (std::size_t space = 0; space < kSpaceCount; ++space) {
    known_.push_back(names.table(static_cast<Space>(space)).size());
  }
}

void Crossings::look(const Event& e, EventNumber n) {
  const Place place = acts(e.thread, n);
  // A block that lives on after its end is left by what its thread does next.
  if (const BlockIndex closing = blocks_.closing(); closing != kNoBlock) {
    for (BlockIndex b = blocks_.innermost(e.thread); b != kNoBlock; b = blocks_[b].parent) {
      if (blocks_[b].alive > 1) leaves(*place_of(b), n);
      if (b == closing) break;
    }
  }
  if (e.flags != 0) return;
  switch (e.kind) {
    case EventKind::kRead: {
      Object& of = object(Space::kVariable, e.target);
      edges(of.strong, e.thread, place, n);
      record(of.weak, e.thread, place, n);
      break;
    }
    case EventKind::kWrite:
    case EventKind::kRmw: {
      Object& of = object(Space::kVariable, e.target);
      edges(of.strong, e.thread, place, n);
      edges(of.weak, e.thread, place, n);
      of.weak.clear();
      of.strong.assign(1, {e.thread, place, n});
      break;
    }
    case EventKind::kAcquire: {
      Object& of = object(Space::kLock, e.target);
      edges(of.strong, e.thread, place, n);
      edges(of.weak, e.thread, place, n);
      break;
    }
    case EventKind::kAcquireShared:
      edges(object(Space::kLock, e.target).strong, e.thread, place, n);
      break;
    case EventKind::kRelease: {
      Object& of = object(Space::kLock, e.target);
      // The lock may have been taken before the block; then what comes in between does not show at
      // an acquire of the block.
      if (options_.wide) {
        edges(of.strong, e.thread, place, n);
        edges(of.weak, e.thread, place, n);
      }
      of.weak.clear();
      of.strong.assign(1, {e.thread, place, n});
      break;
    }
    case EventKind::kReleaseShared: {
      Object& of = object(Space::kLock, e.target);
      if (options_.wide) edges(of.strong, e.thread, place, n);
      record(of.weak, e.thread, place, n);
      break;
    }
    // Rounds of a barrier are not told apart here: more ways in than there are.
    case EventKind::kBarrierArrive:
    case EventKind::kPost:
    case EventKind::kCondSignal:
    case EventKind::kCondBroadcast:
      record(object(*target_space(e.kind), e.target).strong, e.thread, place, n);
      break;
    case EventKind::kBarrierLeave:
    case EventKind::kWait:
    case EventKind::kCondWait:
      edges(object(*target_space(e.kind), e.target).strong, e.thread, place, n);
      break;
    // Types have no events: their space is free for home-made synchronization.
    case EventKind::kHappensBefore:
      record(object(Space::kSite, e.target).strong, e.thread, place, n);
      break;
    case EventKind::kHappensAfter:
      edges(object(Space::kSite, e.target).strong, e.thread, place, n);
      break;
    case EventKind::kFork:
      if (e.child().index() >= last_.size()) last_.resize(e.child().index() + 1);
      last_[e.child().index()] = {e.child(), place, n};
      break;
    case EventKind::kJoin:
      if (e.child().index() < last_.size()) {
        cross(last_[e.child().index()], e.thread, place, n);
      } else {
        cross({}, e.thread, place, n);
      }
      break;
    default: break;
  }
}

Crossings::Place Crossings::acts(ThreadId thread, EventNumber n) {
  Place place = place_of(blocks_.innermost(thread));
  if (thread.index() >= last_.size()) last_.resize(thread.index() + 1);
  last_[thread.index()] = {thread, place, n};
  return place;
}

Crossings::Place Crossings::place_of(BlockIndex block) {
  if (block == kNoBlock) return nullptr;
  if (block >= places_.size()) places_.resize(block + 1);
  const Block& here = blocks_[block];
  if (!places_[block] || places_[block]->begin != here.begin) {
    Place parent = place_of(here.parent);
    places_[block] = std::make_shared<Record>();
    places_[block]->parent = std::move(parent);
    places_[block]->begin = here.begin;
    places_[block]->depth = here.depth;
  }
  return places_[block];
}

/// The object, with an unknown party before us if it may have been used before we looked.
Crossings::Object& Crossings::object(Space space, std::uint32_t target) {
  const auto [at, added] = objects_.try_emplace(static_cast<std::uint64_t>(space) << 32U | target);
  const Space named = space == Space::kSite ? Space::kSemaphore : space;
  if (added && target < known_[static_cast<std::size_t>(named)]) {
    at.value().strong.emplace_back();
  }
  return at.value();
}

void Crossings::record(std::vector<Party>& parties, ThreadId thread, const Place& place,
                       EventNumber n) {
  constexpr std::size_t kMostParties = 64;
  // The same thread in another block is another party: what leaves the former must be seen.
  const auto same = std::ranges::find_if(
      parties, [&](const Party& party) { return party.thread == thread && party.place == place; });
  if (same != parties.end()) {
    same->number = std::min(same->number, n);
    return;
  }
  parties.push_back({thread, place, n});
  if (parties.size() <= kMostParties) return;
  // Whom we forget is taken to be left: a candidate too many.
  for (Record* r = parties.front().place.get(); r != nullptr; r = r->parent.get()) {
    leaves(*r, parties.front().number);
  }
  parties.erase(parties.begin());
}

void Crossings::cross(const Party& from, ThreadId thread, const Place& to, EventNumber n) {
  // The order of a thread leaves a block at its end only. But what is ordered by that stands in the
  // way of conflicts of other threads with the earlier block: those are ways out all the same.
  if (from.number != 0 && from.thread == thread && !options_.wide) return;
  Record* out = from.place.get();
  Record* in = to.get();
  while (out != in) {
    const bool leave = in == nullptr || (out != nullptr && out->depth >= in->depth);
    if (leave) {
      leaves(*out, from.number);
      out = out->parent.get();
    } else {
      enters(*in, n);
      in = in->parent.get();
    }
  }
}

void Crossings::leaves(Record& record, EventNumber n) {
  if (record.depth == 0 || n >= record.left) return;
  record.left = n;
  judge(record);
}

void Crossings::enters(Record& record, EventNumber n) {
  if (record.depth == 0 || n <= record.entered) return;
  record.entered = n;
  judge(record);
}

void Crossings::judge(Record& record) {
  if (record.candidate) return;
  const bool left = record.left != std::numeric_limits<EventNumber>::max();
  if (options_.wide ? !left || record.entered == 0 : record.left >= record.entered) return;
  record.candidate = true;
  ++candidates_;
  const Record& parent = *record.parent;
  if (around_.contains(parent.begin)) return;
  if (around_.size() >= options_.most) {
    cut_off_ = true;
    return;
  }
  std::vector<EventNumber>& around = around_[parent.begin];
  for (const Record* r = &parent; r != nullptr; r = r->parent.get()) around.push_back(r->begin);
  std::ranges::reverse(around);
}

}  // namespace syndrome::check::determinism
