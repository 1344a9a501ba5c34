// The default engine: conflict serializability without a clock for each variable.
//
// Transactions of a thread are numbered. A stamp (slot, number) names one; a variable keeps the
// stamp of its last write and of the reads since, a lock that of its last release. For each open
// block x we keep what it reaches: the least number of each thread's transactions that is after x
// in the transaction graph. An edge from (u, i) to the transaction of thread t closes a cycle iff
// t's block is open and reaches (u, i); otherwise every open block that is or reaches (u, i) now
// reaches t's transaction and all that t's block reaches. A finished transaction takes no more
// edges in, so nothing has to be kept of it. docs/atomicity.md has the proof.
//
// In front of that stands a filter. known(t)[u] is the greatest number of thread u's transactions
// that is known to precede t's current one; it is handed over with locks, forks and joins. An edge
// from a transaction that it covers is implied by edges that exist already, and is dropped: in a
// program that locks what it shares, nearly all of them.
//
// Invariants
//   1. known(t)[s] = n implies that every transaction (s, m) with m <= n is t's current one or has
//      a path to it in the graph. known(t)[slot of t] is t's current number.
//   2. x is in reachers_[u] with least = n iff block x is open, and n is the least m such that x
//      has a path to (u, m). slot x's `reached` lists the same pairs by x.
//   3. A read that a later read covers is dropped: whoever conflicts with the earlier one conflicts
//      with the later one too, and is ordered after both by that edge.
//   4. Events outside of blocks share a number until one of them gets an edge from outside. Only
//      the first event of such a run has edges in, so the run makes no path that its events do not.
//   5. The slot of a joined thread goes to a forked one only if the forking thread knows all of
//      its transactions. Then the two follow each other like transactions of one thread.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/atomicity/conflict.h"
#include "check/atomicity/engine.h"

namespace syndrome::check {

class Reach : public EventHandlers {
 public:
  Reach();

  void on_access(const Event& e, EventNumber n);
  void on_acquire(const Event& e, EventNumber n);
  void on_release(const Event& e, EventNumber n);
  void on_acquire_shared(const Event& e, EventNumber n);
  void on_release_shared(const Event& e, EventNumber n);
  void on_fork(const Event& e, EventNumber n);
  void on_join(const Event& e, EventNumber n);
  void on_begin(const Event& e, EventNumber n);
  void on_end(const Event& e, EventNumber n);
  void on_barrier_arrive(const Event& e, EventNumber n);
  void on_barrier_leave(const Event& e, EventNumber n);
  void on_post(const Event& e, EventNumber n);
  void on_wait(const Event& e, EventNumber n);
  void on_happens_before(const Event& e, EventNumber n);
  void on_happens_after(const Event& e, EventNumber n);
  void on_cond_wait(const Event& e, EventNumber n);
  void on_cond_signal(const Event& e, EventNumber n);
  void on_cond_broadcast(const Event& e, EventNumber n);
  void on_thread_start(const Event& e, EventNumber) { (void)active(e.thread); }
  void on_thread_stop(const Event& e, EventNumber) { (void)active(e.thread); }
  void on_alloc(const Event& e, EventNumber) { (void)active(e.thread); }
  void on_free(const Event& e, EventNumber) { (void)active(e.thread); }
  void on_fence(const Event& e, EventNumber) { (void)active(e.thread); }
  void on_enter(const Event& e, EventNumber) { (void)active(e.thread); }
  void on_exit(const Event& e, EventNumber) { (void)active(e.thread); }

  void soon(const Event& e) const {
    if (e.kind <= EventKind::kRmw && e.target < variables_.size()) {
      __builtin_prefetch(&variables_[e.target], 1);
    }
  }

  /// No happens_after of this object will come any more.
  void forget_home_made(std::uint32_t object) { home_made_.erase(object); }

  [[nodiscard]] const Violation& violation() const { return violation_; }
  /// After the first violation the engine may go on: a closing edge is counted and left out.
  [[nodiscard]] std::uint64_t closings() const { return counts_.closings; }
  [[nodiscard]] std::vector<Stat> stats() const;

 private:
  /// Slots are numbered from 1; slot 0 with number 0 is "no transaction", which everyone covers.
  class Stamp {
   public:
    constexpr Stamp() = default;
    constexpr Stamp(std::uint32_t slot, std::uint32_t number)
        : word_(static_cast<std::uint64_t>(number) << 32U | slot) {}
    [[nodiscard]] constexpr std::uint32_t slot() const { return static_cast<std::uint32_t>(word_); }
    [[nodiscard]] constexpr std::uint32_t number() const {
      return static_cast<std::uint32_t>(word_ >> 32U);
    }

    /// `a` or `b` without a branch: whether an access writes is as good as random.
    [[nodiscard]] static constexpr Stamp choose(bool first, Stamp a, Stamp b) {
      const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(first);
      Stamp chosen;
      chosen.word_ = (a.word_ & mask) | (b.word_ & ~mask);
      return chosen;
    }

   private:
    std::uint64_t word_ = 0;  // moved and stored as one
  };
  /// In Variable::read: number is an index into shared_reads_, never 0.
  static constexpr std::uint32_t kSharedReads = ~0U;

  struct Variable {
    Stamp write;
    Stamp read;  // the only read since `write` that is not covered by a later one, or kSharedReads
  };
  static_assert(sizeof(Variable) == 16, "four variables in a cache line");

  /// One that signals, many that wait: the stamp of the last publication of each slot, and the
  /// known rows of all publishers joined. Shared releases, posts, signals, barrier rounds.
  struct Channel {
    std::vector<Stamp> stamps;
    std::vector<std::uint32_t> known;
  };

  struct Lock {
    Stamp release;
    std::unique_ptr<Channel> shared;  // shared releases since `release`
  };

  struct Round {  // of a barrier; dropped when its last thread has left
    Channel arrivals;
    std::size_t inside = 0;
  };

  struct Slot {
    ThreadId owner;
    bool open = false;           // in a block
    std::vector<Stamp> reached;  // by the open block: the least number of each slot
  };
  struct Reacher {
    std::uint32_t slot = 0;
    std::uint32_t number = 0;  // of the block; the entry is void when the slot is past it
    std::uint32_t least = 0;
  };

  struct Thread {
    std::uint32_t slot = 0;  // given at the fork or at the first event
    Stamp last;              // its last transaction, once it was joined
  };

  struct Counts {
    std::uint64_t edges = 0;       // not covered by what the thread knew
    std::uint64_t propagated = 0;  // of those, found an open block that reaches their source
    std::uint64_t closings = 0;
    std::uint64_t shared_reads = 0;  // reads that joined others in shared_reads_
    std::uint64_t blocks = 0;
    std::uint64_t reused_slots = 0;
  };

  [[nodiscard]] std::uint32_t* known(std::uint32_t slot) {
    return &known_[std::size_t{slot} * stride_];
  }
  [[nodiscard]] std::uint32_t* lock_known(std::size_t lock) { return &lock_known_[lock * stride_]; }
  [[nodiscard]] bool covered(const std::uint32_t* row, Stamp stamp) const {
    // Entry 0 is 0: it covers no transaction, and so stands for slots that have no column.
    return row[stamp.slot() < width_ ? stamp.slot() : 0] >= stamp.number();
  }
  [[nodiscard]] bool is_open(std::uint32_t slot, std::uint32_t number) const {
    return slots_[slot].open && now_[slot].number() == number;
  }

  /// The slot of the thread of an event that is happening.
  std::uint32_t active(ThreadId thread) {
    if (thread.index() < active_.size()) {
      if (const std::uint32_t slot = active_[thread.index()]; slot != 0) [[likely]]
        return slot;
    }
    return first_event(thread);
  }
  std::uint32_t first_event(ThreadId thread);
  std::uint32_t new_slot();
  std::uint32_t slot_for_child(std::uint32_t parent);
  Thread& thread(ThreadId id);
  void widen();
  void next_number(std::uint32_t slot);

  Lock& lock(std::uint32_t id);
  static std::size_t grown(std::size_t size, std::size_t id) {
    return std::max({id + 1, size + size / 2, std::size_t{64}});
  }

  [[gnu::noinline]] void slow_access(const Event& e, EventNumber n);
  void slow_read(Variable& variable, std::uint32_t slot, EventNumber n);
  void slow_write(Variable& variable, std::uint32_t slot, EventNumber n);

  /// Adds the edge from `source` to the current transaction of `slot`, unless it is known.
  void edge(Stamp source, std::uint32_t slot, EventNumber n);
  /// Fills blocks_reaching_ with the slots of the open blocks that are, or reach, the source.
  void find_blocks_reaching(Stamp source);
  void reaches(std::uint32_t block, Stamp target);
  void join_known(std::uint32_t slot, const std::uint32_t* row, std::size_t width);
  void publish(Channel& channel, std::uint32_t slot);
  void observe(const Channel& channel, std::uint32_t slot, EventNumber n);
  void take_release(Lock& lock, std::uint32_t id, std::uint32_t slot, EventNumber n);

  std::vector<Variable> variables_;
  std::vector<std::vector<Stamp>> shared_reads_;  // [0] unused
  std::vector<std::uint32_t> free_shared_reads_;
  std::vector<Lock> locks_;
  std::vector<std::uint32_t> active_;  // by ThreadId: its slot, from its first event on
  std::vector<Stamp> now_;             // by slot: its current transaction
  std::vector<Thread> threads_;        // by ThreadId
  std::vector<Slot> slots_;
  std::vector<std::vector<Reacher>> reachers_;  // by slot
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint32_t> blocks_reaching_;  // see find_blocks_reaching()

  // Rows of known(): stride_ entries each, of which width_ are in use.
  std::uint32_t width_ = 0;
  std::uint32_t stride_ = 0;
  std::vector<std::uint32_t> known_;
  std::vector<std::uint32_t> lock_known_;

  BarrierRounds barrier_rounds_;
  std::map<std::pair<BarrierId, std::uint64_t>, Round> rounds_;
  std::unordered_map<std::uint32_t, Channel> semaphores_;
  std::unordered_map<std::uint32_t, Channel> home_made_;
  std::unordered_map<std::uint32_t, Channel> conditions_;

  Violation violation_;
  Counts counts_;
};

inline void Reach::on_access(const Event& e, EventNumber n) {
  if (e.thread.value >= active_.size() || e.target >= variables_.size()) [[unlikely]] {
    return slow_access(e, n);
  }
  const std::uint32_t slot = active_[e.thread.value];
  Variable& v = variables_[e.target];
  const std::uint32_t* const row = known(slot);
  if (slot == 0 || !covered(row, v.write) || !covered(row, v.read)) [[unlikely]] {
    return slow_access(e, n);
  }
  const Stamp stamp = now_[slot];
  const bool writes = e.kind != EventKind::kRead;
  v.write = Stamp::choose(writes, stamp, v.write);
  v.read = Stamp::choose(writes, Stamp{}, stamp);
}

}  // namespace syndrome::check
