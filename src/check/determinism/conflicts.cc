#include "check/determinism/conflicts.h"

#include <algorithm>

namespace syndrome::check::determinism {
namespace {

using Clock = std::vector<std::uint32_t>;

std::uint32_t entry(const Clock& clock, std::uint32_t slot) {
  return slot < clock.size() ? clock[slot] : 0;
}

void include(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

std::uint64_t key(std::uint64_t kind, std::uint32_t target) {
  return kind << 32U | target;
}
// Beside the spaces of what is operated on.
constexpr std::uint64_t kReleases = kSpaceCount;

}  // namespace

void Conflicts::take(const Event& e, EventNumber n) {
  // Re-entrant locks do not count, and inner begins are blocks' business.
  if (e.flags != 0) return;
  switch (e.kind) {
    case EventKind::kAcquire: return acquire(e, n, true);
    case EventKind::kAcquireShared: return acquire(e, n, false);
    case EventKind::kRelease: return release(e, n, true);
    case EventKind::kReleaseShared: return release(e, n, false);
    case EventKind::kFork: return fork(e);
    case EventKind::kJoin: return join(e);
    case EventKind::kPost: return post(e);
    case EventKind::kWait:
      wait(e);  // first: it may be ordered after another wait by its own post
      if (any_) operate(e, n, Space::kSemaphore, true);
      return;
    case EventKind::kBarrierArrive: return arrive(e);
    case EventKind::kBarrierLeave: return leave(e);
    case EventKind::kHappensBefore:
      if (!any_) return;
      return for_each_inside(e.thread, [&](Inside& in, Member& member) {
        include(in.home_made[e.target], member.clock);
        ++member.clock[member.slot];
      });
    case EventKind::kHappensAfter:
      if (!any_) return;
      return for_each_inside(e.thread, [&](Inside& in, Member& member) {
        const auto at = in.home_made.find(e.target);
        if (at != in.home_made.end()) include(member.clock, at->second);
      });
    default: return;
  }
}

// --- operations that can be in conflict

void Conflicts::operate(const Event& e, EventNumber n, Space space, bool strong) {
  for_each_inside(e.thread, [&](Inside& in, Member& member) {
    std::vector<Operation>& operations =
        in.operations[key(static_cast<std::uint64_t>(space), e.target)];
    look(in, member, e, n, operations, strong);
    std::erase_if(operations, [&](const Operation& o) {
      return (strong || !o.strong) && entry(member.clock, o.slot) >= o.time;
    });
    operations.push_back({n, e.site, member.slot, member.clock[member.slot], strong});
  });
}

/// Whether there is an earlier operation that conflicts and is unordered; then it is reported.
bool Conflicts::look(Inside& in, const Member& member, const Event& e, EventNumber n,
                     std::vector<Operation>& operations, bool strong) {
  ++counts_.operations;
  const Operation* found = nullptr;
  for (const Operation& o : operations) {
    if ((strong || o.strong) && entry(member.clock, o.slot) < o.time &&
        (found == nullptr || o.number > found->number)) {
      found = &o;
    }
  }
  if (found == nullptr) return false;
  ++counts_.conflicts;
  on_conflict_({in.begin, in.site, found->number, found->site, n, e.site});
  return true;
}

void Conflicts::acquire(const Event& e, EventNumber n, bool strong) {
  if (!any_) return;
  for_each_inside(e.thread, [&](Inside& in, Member& member) {
    std::vector<Operation>& acquires =
        in.operations[key(static_cast<std::uint64_t>(Space::kLock), e.target)];
    const bool conflict = look(in, member, e, n, acquires, strong);
    std::erase_if(acquires, [&](const Operation& o) {
      return (strong || !o.strong) && entry(member.clock, o.slot) >= o.time;
    });
    acquires.push_back({n, e.site, member.slot, member.clock[member.slot], strong});
    const auto releases = in.operations.find(key(kReleases, e.target));
    if (conflict || releases == in.operations.end()) return;
    handed_over_ |= std::ranges::any_of(releases->second, [&](const Operation& o) {
      return (strong || o.strong) && entry(member.clock, o.slot) < o.time;
    });
  });
}

void Conflicts::release(const Event& e, EventNumber n, bool strong) {
  if (!any_ || handed_over_) return;
  for_each_inside(e.thread, [&](Inside& in, Member& member) {
    std::vector<Operation>& releases = in.operations[key(kReleases, e.target)];
    std::erase_if(releases, [&](const Operation& o) {
      return (strong || !o.strong) && entry(member.clock, o.slot) >= o.time;
    });
    releases.push_back({n, e.site, member.slot, member.clock[member.slot], strong});
  });
}

// --- the order inside of a block

Conflicts::Inside& Conflicts::create(BlockIndex block) {
  if (block >= insides_.size()) insides_.resize(block + 1);
  insides_[block] = std::make_unique<Inside>();
  Inside& in = *insides_[block];
  in.begin = blocks_[block].begin;
  in.site = blocks_[block].begin_event.site;
  ++counts_.blocks;
  any_ = true;
  return in;
}

void Conflicts::fork(const Event& e) {
  for (BlockIndex b = blocks_.innermost(e.thread); b != kNoBlock; b = blocks_[b].parent) {
    Inside* in = inside(b);
    if (in == nullptr) {
      in = &create(b);
      in->members[e.thread.value].clock = {1};
    }
    const auto found = in->members.find(e.thread.value);
    if (found == in->members.end()) continue;
    Member child;
    Member& parent = found->second;
    if (parent.free.empty()) {
      if (in->slots >= kMaxSlots) {
        too_many_threads_ = true;
        continue;
      }
      child.slot = in->slots++;
    } else {
      child.slot = parent.free.back();
      parent.free.pop_back();
    }
    if (parent.clock.size() <= child.slot) parent.clock.resize(child.slot + 1);
    child.clock = parent.clock;
    ++child.clock[child.slot];
    ++parent.clock[parent.slot];
    in->members[e.child().value] = std::move(child);
  }
}

void Conflicts::join(const Event& e) {
  if (!any_) return;
  for_each_inside(e.thread, [&](Inside& in, Member& member) {
    const auto found = in.members.find(e.child().value);
    if (found == in.members.end()) return;
    Member& child = found->second;
    // The root of a block that lives on in its children may be joined from inside of it.
    include(member.clock, child.clock);
    if (child.joined) return;
    child.joined = true;
    member.free.insert(member.free.end(), child.free.begin(), child.free.end());
    member.free.push_back(child.slot);
    child.free.clear();
  });
}

void Conflicts::post(const Event& e) {
  Post made;
  if (any_) {
    for_each_inside(e.thread, [&](Inside& in, Member& member) {
      made.knowledge.emplace_back(in.begin, member.clock);
      ++member.clock[member.slot];
    });
  }
  std::deque<Post>& queue = posts_[e.target];
  if (made.knowledge.empty() && !queue.empty() && queue.back().knowledge.empty()) {
    ++queue.back().count;
  } else {
    queue.push_back(std::move(made));
  }
}

void Conflicts::wait(const Event& e) {
  const auto at = posts_.find(e.target);
  if (at == posts_.end() || at->second.empty()) return;
  Post& first = at->second.front();
  if (!first.knowledge.empty()) {
    for_each_inside(e.thread, [&](Inside& in, Member& member) {
      for (const auto& [block, clock] : first.knowledge) {
        if (block == in.begin) include(member.clock, clock);
      }
    });
  }
  if (--first.count == 0) at->second.pop_front();
}

void Conflicts::arrive(const Event& e) {
  const std::uint64_t round = rounds_.arrive(e.thread, e.barrier());
  const RoundKey at{e.target, round};
  ++inside_[at];
  if (!any_) return;
  for_each_inside(e.thread, [&](Inside& in, Member& member) {
    include(in.rounds[at], member.clock);
    ++member.clock[member.slot];
  });
}

void Conflicts::leave(const Event& e) {
  const std::uint64_t round = rounds_.leave(e.thread, e.barrier());
  const RoundKey at{e.target, round};
  // When the last has left, nobody asks for the round any more.
  const auto inside_round = inside_.find(at);
  const bool over = inside_round != inside_.end() && --inside_round->second == 0;
  if (over) inside_.erase(inside_round);
  if (!any_) return;
  for_each_inside(e.thread, [&](Inside& in, Member& member) {
    const auto arrivals = in.rounds.find(at);
    if (arrivals == in.rounds.end()) return;
    include(member.clock, arrivals->second);
    if (over) in.rounds.erase(arrivals);
  });
}

}  // namespace syndrome::check::determinism
