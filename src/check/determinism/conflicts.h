// Internal conflict freedom (the paper's Figure 4, for blocks in blocks): two operations of one
// block that conflict must be ordered inside of it.
//
// For each block in which a thread was forked, and each thread in it, a vector clock: what of the
// block comes before what the thread does now. Before the first fork one thread is alone in the
// block, and all that it has done comes before all that follows: nothing is kept of it. The order
// inside of a block is that of threads, fork, join, barriers (arrive before leave, in one round),
// semaphores (a post before the wait that it releases; posts release waits in the order in which
// they come) and happens_before … happens_after; all of them between operations of the block.
// Locks and atomics order nothing: who comes first is up to the schedule.
//
// A slot is a column of the clocks: a thread, or a chain of threads, each of which was forked by
// one that had joined the one before.
//
// Of the operations on one object only those are kept that are not before a later one which
// conflicts with all that they conflict with: mostly one. So what is found with an operation is the
// last one before it that conflicts and is unordered, if there is any.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "check/atomicity/conflict.h"
#include "check/determinism/blocks.h"
#include "event/event.h"

namespace syndrome::check::determinism {

/// Whether two operations of one block, of different threads, must be ordered inside of it: the one
/// definition of a conflict for this check, the verifier and the oracle.
[[nodiscard]] inline bool compete(const Event& a, const Event& b) {
  if (a.flags != 0 || b.flags != 0 || a.target != b.target) return false;
  if (is_access(a.kind) && is_access(b.kind)) return is_write(a.kind) || is_write(b.kind);
  const auto acquires = [](const Event& e) {
    return e.kind == EventKind::kAcquire || e.kind == EventKind::kAcquireShared;
  };
  if (acquires(a) && acquires(b)) {
    return a.kind == EventKind::kAcquire || b.kind == EventKind::kAcquire;
  }
  return a.kind == EventKind::kWait && b.kind == EventKind::kWait;
}

struct FoundConflict {
  EventNumber block = 0;  // its begin
  SiteId block_site;
  EventNumber earlier = 0;
  SiteId earlier_site;
  EventNumber later = 0;
  SiteId later_site;
};

class Conflicts {
 public:
  using OnConflict = std::function<void(const FoundConflict&)>;

  Conflicts(const Blocks& blocks, OnConflict on_conflict)
      : blocks_(blocks), on_conflict_(std::move(on_conflict)) {}

  /// Every event but accesses, between Blocks::enter and Blocks::leave; nested ones too.
  void take(const Event& e, EventNumber n);
  /// An access that is to be looked at.
  void access(const Event& e, EventNumber n) {
    if (any_ && blocks_.innermost(e.thread) != kNoBlock) [[unlikely]]
      operate(e, n, Space::kVariable, e.kind != EventKind::kRead);
  }

  /// Whether a lock was handed over in a block, from a release to an acquire that it is not
  /// before, without a conflict: taken before the block, or before the fork. Then what the lock
  /// protects is free of races and yet may be in conflict, and no race filter must be used.
  [[nodiscard]] bool handed_over() const { return handed_over_; }
  /// More threads were in one block than clocks can hold: what came since was not followed.
  [[nodiscard]] bool too_many_threads() const { return too_many_threads_; }

  struct Counts {
    std::uint64_t blocks = 0;      // in which a thread was forked
    std::uint64_t operations = 0;  // looked at, once for each block that they are in
    std::uint64_t conflicts = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  using Clock = std::vector<std::uint32_t>;
  /// So many clocks of so many entries are 64 MiB.
  static constexpr std::size_t kMaxSlots = 4096;

  struct Member {
    std::uint32_t slot = 0;
    Clock clock;
    std::vector<std::uint32_t> free;  // slots of threads whose last event it knows
    bool joined = false;              // its slot is another's now
  };
  /// An operation that later ones can be in conflict with.
  struct Operation {
    EventNumber number = 0;
    SiteId site;
    std::uint32_t slot = 0;
    std::uint32_t time = 0;
    bool strong = false;  // conflicts with weak ones too: a write, an exclusive acquire
  };
  using RoundKey = std::pair<std::uint32_t, std::uint64_t>;  // barrier, round
  /// A block in which a thread was forked.
  struct Inside {
    EventNumber begin = 0;
    SiteId site;
    std::uint32_t slots = 1;
    std::unordered_map<std::uint32_t, Member> members;  // by thread
    tsl::robin_map<std::uint64_t, std::vector<Operation>> operations;
    std::map<RoundKey, Clock> rounds;  // arrivals
    std::unordered_map<std::uint32_t, Clock> home_made;
  };
  struct Post {
    std::uint64_t count = 1;                               // posts alike
    std::vector<std::pair<EventNumber, Clock>> knowledge;  // by block
  };

  [[nodiscard]] Inside* inside(BlockIndex block) {
    if (block >= insides_.size() || !insides_[block]) return nullptr;
    Inside& in = *insides_[block];
    return in.begin == blocks_[block].begin ? &in : nullptr;
  }
  /// Calls visit(Inside&, Member&) for each block that the thread is in now.
  template <class Visit>
  void for_each_inside(ThreadId thread, Visit visit) {
    for (BlockIndex b = blocks_.innermost(thread); b != kNoBlock; b = blocks_[b].parent) {
      Inside* const in = inside(b);
      if (in == nullptr) continue;
      const auto member = in->members.find(thread.value);
      if (member != in->members.end()) visit(*in, member->second);
    }
  }

  void operate(const Event& e, EventNumber n, Space space, bool strong);
  bool look(Inside& in, const Member& member, const Event& e, EventNumber n,
            std::vector<Operation>& operations, bool strong);
  void acquire(const Event& e, EventNumber n, bool strong);
  void release(const Event& e, EventNumber n, bool strong);
  void fork(const Event& e);
  void join(const Event& e);
  void post(const Event& e);
  void wait(const Event& e);
  void arrive(const Event& e);
  void leave(const Event& e);
  Inside& create(BlockIndex block);

  const Blocks& blocks_;
  OnConflict on_conflict_;
  bool any_ = false;  // a thread was forked in some block
  bool handed_over_ = false;
  bool too_many_threads_ = false;
  std::vector<std::unique_ptr<Inside>> insides_;  // by block
  BarrierRounds rounds_;
  std::map<RoundKey, std::uint64_t> inside_;  // threads that have arrived and not left
  std::unordered_map<std::uint32_t, std::deque<Post>> posts_;  // not taken yet, by semaphore
  Counts counts_;
};

}  // namespace syndrome::check::determinism
