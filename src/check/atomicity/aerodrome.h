// AeroDrome (Mathur and Viswanathan, ASPLOS 2020), exact and fast: the engine `aerodrome`.
//
// The clocks are those of Algorithm 1 (aerodrome_literal.h has it line by line, and says what it
// does about blocks open at the end and about other kinds of events), with the read clocks of
// section 4.3. What is different is how they are kept.
//
// One entry decides. The begin of a block gives its thread a new tick, so a clock knows of the
// begin iff its entry for that thread is the tick: line 10 compares two numbers, not two clocks.
//
// One clock for R_x and chR_x. Ticks of blocks are even; an entry is odd when it came to the clock
// through another thread than the one it speaks of. max() keeps the odd one. So the clock of a
// thread has its own entry even and all others odd, and a clock with an entry for t greater than
// t's own tells that somebody else knows of t's block: that is the check, for W as well, and
// lastWThr is not needed.
//
// Shared clocks. W_x := C_t copies nothing: a thread has a snapshot of its clock (row_pool.h), made
// when first needed after a change, and everything that it publishes until the next change refers
// to that one row. R_x is a row of its own only when reads of several threads are unordered.
//
// Lazy end. A row that takes in the tick of an open block is put on the list of that block; `end`
// joins C_t to the rows on the list, and to no others. That includes the clocks of threads. So the
// cost of `end` follows the changes of clocks since `begin`, however many variables there are.
//
// Covered. A published clock is kept with the slot and tick of its publisher. When that tick is of
// no open block and t's own clock has it, t's clock has all that was published under it: rows that
// know of a block get all of it at its end, and outside of blocks a thread takes a new tick
// whenever an event changes its clock. Then nothing is to be done. Where accesses are locked, that
// is nearly always.
//
// Slots. A thread needs an entry in the clocks only from its first event to its join. The slot of a
// joined thread u goes to a new one t if t's clock has u's last tick (then covered() above is true
// of both together), or if u's clock knows of no open block (then it says nothing any more, and
// never will).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/atomicity/conflict.h"
#include "check/atomicity/engine.h"
#include "clock/row_pool.h"

namespace syndrome::check {

class Aerodrome : public EventHandlers {
 public:
  /// What tests set to see the rare things happen often.
  struct Tuning {
    /// A slot that has used up its ticks begins anew, after they were cleared everywhere.
    clock::Tick max_tick = 1 << 30;
    /// Look for rows that nobody refers to whenever one is needed, not only when it pays.
    bool always_sweep = false;
    /// Threads alive together, see too_many_threads().
    std::size_t max_slots = 1U << 14U;
  };
  explicit Aerodrome(Tuning tuning);
  Aerodrome() : Aerodrome(Tuning{}) {}

  void on_read(const Event& e, EventNumber n);
  void on_write(const Event& e, EventNumber n);
  void on_rmw(const Event& e, EventNumber n) { on_write(e, n); }
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
  void on_post(const Event& e, EventNumber) { post(semaphores_[e.target], e.thread); }
  void on_wait(const Event& e, EventNumber n) { wait(semaphores_[e.target], e.thread, n); }
  void on_happens_before(const Event& e, EventNumber) { post(home_made_[e.target], e.thread); }
  void on_happens_after(const Event& e, EventNumber n) { wait(home_made_[e.target], e.thread, n); }
  void on_cond_wait(const Event& e, EventNumber n) { wait(conditions_[e.target], e.thread, n); }
  void on_cond_signal(const Event& e, EventNumber) { post(conditions_[e.target], e.thread); }
  void on_cond_broadcast(const Event& e, EventNumber) { post(conditions_[e.target], e.thread); }
  void on_thread_start(const Event& e, EventNumber) { (void)acting(e.thread); }
  void on_thread_stop(const Event& e, EventNumber) { (void)acting(e.thread); }
  void on_alloc(const Event& e, EventNumber) { (void)acting(e.thread); }
  void on_free(const Event& e, EventNumber) { (void)acting(e.thread); }
  void on_enter(const Event& e, EventNumber) { (void)acting(e.thread); }
  void on_exit(const Event& e, EventNumber) { (void)acting(e.thread); }
  void on_fence(const Event& e, EventNumber) { (void)acting(e.thread); }

  void soon(const Event& e) const {
    if (e.kind <= EventKind::kRmw && e.target < variables_.size()) {
      __builtin_prefetch(&variables_[e.target], 1);
    }
  }

  /// The trace is over; `last` is the number of its last event. A cycle whose blocks are all open
  /// but for one was seen before; one through several open blocks is seen here.
  void finish(EventNumber last);

  /// A clock for each of so many threads alive together, as wide as they are many, is more than a
  /// machine has: 10,000 took 2 GB. Then events need not be shown any more, and nothing is decided.
  [[nodiscard]] bool too_many_threads() const { return slots_.size() > tuning_.max_slots; }

  [[nodiscard]] const Violation& violation() const { return violation_; }
  [[nodiscard]] std::vector<Stat> stats() const;

 private:
  using Tick = clock::Tick;
  using Row = clock::Row;

  /// A published clock. With no row: none was. The row is a snapshot of the clock of the thread in
  /// `slot` when that thread was at `tick`; or, when tick is kJoined, a join of several, to which
  /// nobody else refers.
  struct Published {
    Row row = clock::kNoRow;
    std::uint32_t slot = 0;
    Tick tick = 0;
  };
  static constexpr Tick kJoined = clock::kTickMax;

  /// A variable: `strong` is W, `weak` R. A lock: exclusive and shared releases.
  struct Object {
    Published strong;
    Published weak;
  };
  static_assert(sizeof(Object) == 24, "a million variables are 24 MB");

  static constexpr std::uint32_t kNoSlot = ~0U;
  struct Thread {
    std::uint32_t slot = kNoSlot;  // from the first event to the join
    Row clock = clock::kNoRow;     // of a forked thread without an event: the fork's snapshot
    Row snapshot = clock::kNoRow;  // equal to the clock but for the own entry; kNoRow: to be made
    bool open = false;             // in a block
    bool acted = false;
  };
  struct Slot {
    std::uint32_t thread = 0;
    Tick tick = 0;                        // the last one, when its thread has been joined
    std::vector<Row> knowers;             // of the open block: rows with its tick, and some others
    std::size_t compact_at = kCompactAt;  // size of knowers at which the others are thrown out
  };
  static constexpr std::size_t kCompactAt = 256;
  struct Round {
    Published arrivals;
    std::uint32_t inside = 0;  // threads that have arrived and not left
  };
  struct Counts {
    std::uint64_t uncovered = 0;
    std::uint64_t joined_reads = 0;
    std::uint64_t snapshots = 0;
    std::uint64_t blocks = 0;
    std::uint64_t rows_at_end = 0;
    std::uint64_t sweeps = 0;
    std::uint64_t reused_slots = 0;
    std::uint64_t renumbered = 0;
  };

  Thread& acting(ThreadId id) {
    if (id.index() < threads_.size() && threads_[id.index()].slot != kNoSlot) [[likely]] {
      return threads_[id.index()];
    }
    return first_event(id);
  }
  Thread& thread(ThreadId id);
  Thread& first_event(ThreadId id);
  std::uint32_t slot_for(Row clock);
  void retire(Thread& t);

  Object& variable(std::uint32_t id) {
    if (id >= variables_.size()) [[unlikely]]
      grow(variables_, id);
    return variables_[id];
  }
  Object& lock(std::uint32_t id) {
    if (id >= locks_.size()) [[unlikely]]
      grow(locks_, id);
    return locks_[id];
  }
  static void grow(std::vector<Object>& objects, std::size_t id) {
    objects.resize(std::max({id + 1, objects.size() + objects.size() / 2, std::size_t{64}}));
  }

  [[nodiscard]] bool covered(const Thread& t, const Published& p) const {
    return rows_[t.clock][p.slot] >= p.tick && (p.slot == t.slot || p.tick <= before_open_[p.slot]);
  }
  /// CHECKANDGET, unless covered.
  void get(Thread& t, const Published& p, EventNumber n) {
    if (!covered(t, p)) [[unlikely]]
      check_and_get(t, p.row, n);
  }
  void check_and_get(Thread& t, Row row, EventNumber n);
  void report(const Thread& t, EventNumber n);

  /// p := C_t.
  void replace(Published& p, Thread& t) {
    if (t.snapshot == clock::kNoRow) make_snapshot(t);
    p = {t.snapshot, t.slot, rows_[t.clock][t.slot]};
  }
  /// p := p joined with C_t.
  void add(Published& p, Thread& t) {
    if (covered(t, p)) [[likely]] {
      replace(p, t);
    } else {
      add_unordered(p, t);
    }
  }
  void add_unordered(Published& p, Thread& t);
  void make_snapshot(Thread& t);
  /// A row that is nobody's clock. May sweep: what is to be kept must be referred to.
  Row new_row();
  void sweep();
  bool join_into(Row into, Row from, Tick low_bit);
  /// The same into a thread's own clock, whose own entry stays.
  bool join_into_clock(const Thread& t, Row from);
  void know(std::size_t slot, Row row);
  void compact(std::size_t slot);
  void left(std::uint32_t barrier, std::uint64_t round);

  void next_tick(Thread& t);
  void renumber(Thread& t);
  void end(Thread& t, EventNumber n);

  void post(Published& p, ThreadId id) { add(p, acting(id)); }
  void wait(const Published& p, ThreadId id, EventNumber n) { get(acting(id), p, n); }

  clock::RowPool rows_;
  std::vector<Object> variables_;
  std::vector<Thread> threads_;
  /// For each slot: the tick before that of its open block, or kTickMax when it has none.
  std::vector<Tick> before_open_;
  std::vector<Object> locks_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> owner_;    // of each row: the slot of the thread whose clock it is
  std::vector<std::uint32_t> retired_;  // slots of joined threads
  std::size_t next_retired_ = 0;        // where to look first in retired_

  std::unordered_map<std::uint32_t, Published> semaphores_;
  std::unordered_map<std::uint32_t, Published> home_made_;
  std::unordered_map<std::uint32_t, Published> conditions_;
  BarrierRounds barrier_rounds_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Round> rounds_;         // barrier, round
  std::map<std::pair<std::uint32_t, ThreadId>, std::uint64_t> arrived_in_;  // barrier, thread

  Tuning tuning_;
  Violation violation_;
  Counts counts_;
};

inline void Aerodrome::on_read(const Event& e, EventNumber n) {
  Thread& t = acting(e.thread);
  Object& x = variable(e.target);
  get(t, x.strong, n);
  add(x.weak, t);
}

inline void Aerodrome::on_write(const Event& e, EventNumber n) {
  Thread& t = acting(e.thread);
  Object& x = variable(e.target);
  get(t, x.strong, n);
  if (x.weak.row != clock::kNoRow) {
    get(t, x.weak, n);
    x.weak = {};  // what follows a read follows this write
  }
  replace(x.strong, t);
}

inline void Aerodrome::on_acquire(const Event& e, EventNumber n) {
  Thread& t = acting(e.thread);
  const Object& l = lock(e.target);
  get(t, l.strong, n);
  get(t, l.weak, n);
}

inline void Aerodrome::on_release(const Event& e, EventNumber) {
  Thread& t = acting(e.thread);
  Object& l = lock(e.target);
  replace(l.strong, t);
  l.weak = {};  // the acquire has taken them in
}

inline void Aerodrome::on_begin(const Event& e, EventNumber) {
  Thread& t = acting(e.thread);
  next_tick(t);
  before_open_[t.slot] = rows_[t.clock][t.slot] - 1;
  t.open = true;
  ++counts_.blocks;
}

inline void Aerodrome::on_end(const Event& e, EventNumber n) {
  end(acting(e.thread), n);
}

}  // namespace syndrome::check
