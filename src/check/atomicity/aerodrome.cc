#include "check/atomicity/aerodrome.h"

#include <cassert>

namespace syndrome::check {

using clock::kNoRow;

Aerodrome::Aerodrome(Tuning tuning)
    : before_open_(rows_.width(), clock::kTickMax), tuning_(tuning) {}

// Threads and their slots.

Aerodrome::Thread& Aerodrome::thread(ThreadId id) {
  if (id.index() >= threads_.size()) threads_.resize(id.index() + 1);
  return threads_[id.index()];
}

Aerodrome::Thread& Aerodrome::first_event(ThreadId id) {
  Thread& t = thread(id);
  assert(!t.acted && "an event after the join");
  const Row start = t.clock;
  t.slot = slot_for(start);
  t.clock = new_row();
  t.acted = true;
  owner_[t.clock] = t.slot;
  join_into(t.clock, start, 1);
  slots_[t.slot].thread = id.value;
  rows_[t.clock][t.slot] = slots_[t.slot].tick;
  next_tick(t);
  return t;
}

/// A slot for a thread whose clock begins as `clock`.
std::uint32_t Aerodrome::slot_for(Row clock) {
  // Slots that cannot be had now are asked again later; a few tries keep this cheap when many
  // threads have ended in the middle of a block that they know of.
  constexpr std::size_t kTries = 8;
  for (std::size_t tries = std::min(kTries, retired_.size()); tries > 0; --tries) {
    if (next_retired_ >= retired_.size()) next_retired_ = 0;
    const std::uint32_t slot = retired_[next_retired_];
    Thread& last = threads_[slots_[slot].thread];
    const bool silent = !clock::passes(rows_[last.clock], before_open_.data(), rows_.width());
    if (silent || rows_[clock][slot] >= slots_[slot].tick) {
      if (silent) last.clock = kNoRow;
      retired_[next_retired_] = retired_.back();
      retired_.pop_back();
      ++counts_.reused_slots;
      return slot;
    }
    ++next_retired_;
  }
  const auto slot = static_cast<std::uint32_t>(slots_.size());
  slots_.emplace_back();
  if (slot >= rows_.width()) {
    rows_.widen(rows_.width() * 2);
    before_open_.resize(rows_.width(), clock::kTickMax);
  }
  return slot;
}

void Aerodrome::retire(Thread& t) {
  t.snapshot = kNoRow;
  slots_[t.slot].tick = rows_[t.clock][t.slot];
  owner_[t.clock] = kNoSlot;
  retired_.push_back(t.slot);
  t.slot = kNoSlot;
}

void Aerodrome::next_tick(Thread& t) {
  t.snapshot = kNoRow;
  Tick& own = rows_[t.clock][t.slot];
  own += 2;
  if (own > tuning_.max_tick) [[unlikely]]
    renumber(t);
}

/// Begins the ticks of t's slot anew. Possible because it has no open block: what clocks know of
/// its earlier ones decides nothing any more. What was published under an old tick is covered by
/// whoever has a new one at least as great, since a thread's clock only grows; for others it is one
/// more clock to join.
void Aerodrome::renumber(Thread& t) {
  assert(!t.open);
  rows_.clear_column(t.slot);
  rows_[t.clock][t.slot] = 2;
  ++counts_.renumbered;
}

// Clocks.

void Aerodrome::sweep() {
  std::vector<bool> marked(rows_.size(), false);
  const auto visit = [&](const Published& p) { marked[p.row] = true; };
  for (const std::vector<Object>* objects : {&variables_, &locks_}) {
    for (const Object& object : *objects) {
      visit(object.strong);
      visit(object.weak);
    }
  }
  for (const auto& [id, published] : semaphores_) visit(published);
  for (const auto& [id, published] : home_made_) visit(published);
  for (const auto& [id, published] : conditions_) visit(published);
  for (const auto& [id, round] : rounds_) visit(round.arrivals);
  for (const Thread& t : threads_) {
    marked[t.clock] = true;
    marked[t.snapshot] = true;
  }
  rows_.sweep(marked);
  ++counts_.sweeps;
}

Aerodrome::Row Aerodrome::new_row() {
  const std::size_t roots = 2 * variables_.size() + threads_.size();
  if (rows_.wants_sweep(roots) || tuning_.always_sweep) [[unlikely]] {
    sweep();
  }
  const Row row = rows_.allocate();
  if (owner_.size() <= row) owner_.resize(row + 1);
  owner_[row] = kNoSlot;
  return row;
}

bool Aerodrome::join_into(Row into, Row from, Tick low_bit) {
  return clock::join(rows_[into], rows_[from], low_bit, before_open_.data(), rows_.width(),
                     [&](std::size_t slot) { know(slot, into); });
}

bool Aerodrome::join_into_clock(const Thread& t, Row from) {
  Tick& own = rows_[t.clock][t.slot];
  const Tick tick = std::exchange(own, clock::kTickMax);
  const bool changed = join_into(t.clock, from, 1);
  own = tick;
  return changed;
}

void Aerodrome::know(std::size_t slot, Row row) {
  std::vector<Row>& knowers = slots_[slot].knowers;
  knowers.push_back(row);
  if (knowers.size() >= slots_[slot].compact_at) [[unlikely]]
    compact(slot);
}

/// A block that stays open for long meets many rows that are soon given up, or used again.
void Aerodrome::compact(std::size_t slot) {
  std::vector<Row>& knowers = slots_[slot].knowers;
  std::erase_if(knowers, [&](Row row) { return rows_[row][slot] <= before_open_[slot]; });
  std::sort(knowers.begin(), knowers.end());
  knowers.erase(std::unique(knowers.begin(), knowers.end()), knowers.end());
  slots_[slot].compact_at = std::max(kCompactAt, 2 * knowers.size());
}

void Aerodrome::report(const Thread& t, EventNumber n) {
  if (violation_.event == 0) violation_ = {n, ThreadId(slots_[t.slot].thread)};
}

void Aerodrome::check_and_get(Thread& t, Row row, EventNumber n) {
  ++counts_.uncovered;
  if (t.open && rows_[row][t.slot] > rows_[t.clock][t.slot]) report(t, n);
  if (!join_into_clock(t, row)) return;
  if (t.open) {
    t.snapshot = kNoRow;
  } else {
    next_tick(t);
  }
}

void Aerodrome::make_snapshot(Thread& t) {
  t.snapshot = new_row();
  join_into(t.snapshot, t.clock, 0);
  ++counts_.snapshots;
}

void Aerodrome::add_unordered(Published& p, Thread& t) {
  if (p.tick != kJoined) {
    const Row joined = new_row();
    join_into(joined, p.row, 0);
    p = {joined, 0, kJoined};
  }
  join_into(p.row, t.clock, 0);
  ++counts_.joined_reads;
}

void Aerodrome::end(Thread& t, EventNumber n) {
  assert(t.open);
  t.open = false;
  before_open_[t.slot] = clock::kTickMax;
  const Tick tick = rows_[t.clock][t.slot];
  Slot& slot = slots_[t.slot];
  for (const Row row : slot.knowers) {
    if (row == t.snapshot || rows_[row][t.slot] < tick) continue;
    ++counts_.rows_at_end;
    if (owner_[row] == kNoSlot) {
      join_into(row, t.clock, 1);
      continue;
    }
    // A clock and its snapshot know the same blocks, so the snapshot is on the list as well and
    // stays equal.
    const Thread& u = threads_[slots_[owner_[row]].thread];
    if (u.open && rows_[t.clock][u.slot] > rows_[u.clock][u.slot]) report(u, n);
    join_into_clock(u, t.clock);
  }
  slot.knowers.clear();
  slot.compact_at = kCompactAt;
}

void Aerodrome::finish(EventNumber last) {
  for (Thread& t : threads_) {
    if (t.open) end(t, last);
  }
}

// Events that are rarer.

void Aerodrome::on_acquire_shared(const Event& e, EventNumber n) {
  get(acting(e.thread), lock(e.target).strong, n);
}

void Aerodrome::on_release_shared(const Event& e, EventNumber) {
  add(lock(e.target).weak, acting(e.thread));
}

void Aerodrome::on_fork(const Event& e, EventNumber) {
  (void)thread(e.child());
  Thread& t = acting(e.thread);
  if (t.snapshot == kNoRow) make_snapshot(t);
  threads_[e.target].clock = t.snapshot;
}

void Aerodrome::on_join(const Event& e, EventNumber n) {
  (void)thread(e.child());
  Thread& t = acting(e.thread);
  Thread& child = threads_[e.target];
  if (!child.acted) return;  // in no transaction, though it has the clock of its fork
  if (child.open) end(child, n);
  check_and_get(t, child.clock, n);
  if (child.slot != kNoSlot) retire(child);
}

void Aerodrome::on_barrier_arrive(const Event& e, EventNumber) {
  Thread& t = acting(e.thread);
  const std::uint64_t round = barrier_rounds_.arrive(e.thread, e.barrier());
  Round& state = rounds_[{e.target, round}];
  add(state.arrivals, t);
  const auto [arrived, is_new] = arrived_in_.try_emplace({e.target, e.thread}, round);
  const std::uint64_t before = std::exchange(arrived->second, round);
  if (is_new || before != round) ++state.inside;
  if (before != round) left(e.target, before);  // it never left that one
}

void Aerodrome::on_barrier_leave(const Event& e, EventNumber n) {
  Thread& t = acting(e.thread);
  const std::uint64_t round = barrier_rounds_.leave(e.thread, e.barrier());
  get(t, rounds_[{e.target, round}].arrivals, n);
  arrived_in_.erase({e.target, e.thread});
  left(e.target, round);
}

/// One thread less that may yet leave this round.
void Aerodrome::left(std::uint32_t barrier, std::uint64_t round) {
  const auto state = rounds_.find({barrier, round});
  if (--state->second.inside > 0) return;
  rounds_.erase(state);
}

std::vector<Stat> Aerodrome::stats() const {
  return {
      {"blocks", counts_.blocks},
      {"clocks joined that were not covered", counts_.uncovered},
      {"joins of unordered reads, posts, signals, arrivals", counts_.joined_reads},
      {"snapshots of clocks", counts_.snapshots},
      {"rows updated at end", counts_.rows_at_end},
      {"most rows at once", rows_.size()},
      {"sweeps for rows that nobody refers to", counts_.sweeps},
      {"entries in a row", rows_.width()},
      {"slots used again", counts_.reused_slots},
      {"slots numbered anew", counts_.renumbered},
  };
}

}  // namespace syndrome::check
