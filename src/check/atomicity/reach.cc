#include "check/atomicity/reach.h"

#include <cassert>

namespace syndrome::check {

namespace {

// A known row beyond this many slots costs more to hand over than the edges that it saves, and the
// rows of thousands of threads would fill memory with their square. Slots past it have no column:
// their transactions are never covered. Measured in docs/performance.md.
constexpr std::uint32_t kMostColumns = 128;

// How many free slots a fork looks at for one that it may take over.
constexpr std::size_t kSlotTries = 8;

}  // namespace

Reach::Reach() : shared_reads_(1), now_(1), slots_(1), reachers_(1) {
  widen();
}

void Reach::widen() {
  const std::uint32_t stride = stride_ == 0 ? 16 : stride_ * 2;
  const auto relay = [&](std::vector<std::uint32_t>& rows, std::size_t count) {
    std::vector<std::uint32_t> wider(count * stride);
    for (std::size_t i = 0; i < count && stride_ != 0; ++i) {
      std::copy_n(&rows[i * stride_], stride_, &wider[i * stride]);
    }
    rows = std::move(wider);
  };
  relay(known_, slots_.size());
  relay(lock_known_, locks_.size());
  stride_ = stride;
}

std::uint32_t Reach::new_slot() {
  const auto slot = static_cast<std::uint32_t>(slots_.size());
  if (slot >= stride_ && stride_ < kMostColumns) widen();
  slots_.emplace_back();
  reachers_.emplace_back();
  now_.emplace_back(slot, 0U);
  known_.resize(slots_.size() * stride_);
  width_ = std::min(slot + 1, stride_);
  return slot;
}

void Reach::next_number(std::uint32_t slot) {
  // 2^32 blocks of one thread are more than a year of recording; better to stop than to be wrong.
  assert(now_[slot].number() != ~0U);
  now_[slot] = {slot, now_[slot].number() + 1};
  if (slot < width_) known(slot)[slot] = now_[slot].number();
}

Reach::Thread& Reach::thread(ThreadId id) {
  if (id.index() >= threads_.size()) {
    threads_.resize(grown(threads_.size(), id.index()));
    active_.resize(threads_.size());
  }
  return threads_[id.index()];
}

std::uint32_t Reach::first_event(ThreadId id) {
  Thread& state = thread(id);
  if (state.slot == 0) {  // nobody forked it
    state.slot = new_slot();
    slots_[state.slot].owner = id;
    next_number(state.slot);
  }
  return active_[id.index()] = state.slot;
}

std::uint32_t Reach::slot_for_child(std::uint32_t parent) {
  const std::uint32_t* row = known(parent);
  const std::size_t tries = std::min(kSlotTries, free_slots_.size());
  for (std::size_t i = 0; i < tries; ++i) {
    const std::size_t at = free_slots_.size() - 1 - i;
    const std::uint32_t slot = free_slots_[at];
    if (!covered(row, now_[slot])) continue;
    free_slots_[at] = free_slots_.back();
    free_slots_.pop_back();
    ++counts_.reused_slots;
    return slot;
  }
  return new_slot();
}

Reach::Lock& Reach::lock(std::uint32_t id) {
  if (id >= locks_.size()) [[unlikely]] {
    locks_.resize(grown(locks_.size(), id));
    lock_known_.resize(locks_.size() * stride_);
  }
  return locks_[id];
}

// --- edges

void Reach::reaches(std::uint32_t block, Stamp target) {
  std::vector<Reacher>& reachers = reachers_[target.slot()];
  for (std::size_t i = 0; i < reachers.size();) {
    Reacher& entry = reachers[i];
    if (!is_open(entry.slot, entry.number)) {
      entry = reachers.back();
      reachers.pop_back();
      continue;
    }
    if (entry.slot == block) {
      if (entry.least <= target.number()) return;
      entry.least = target.number();
      for (Stamp& reached : slots_[block].reached) {
        if (reached.slot() == target.slot()) reached = target;
      }
      return;
    }
    ++i;
  }
  reachers.push_back({block, now_[block].number(), target.number()});
  slots_[block].reached.push_back(target);
}

void Reach::find_blocks_reaching(Stamp source) {
  blocks_reaching_.clear();
  if (is_open(source.slot(), source.number())) blocks_reaching_.push_back(source.slot());
  for (const Reacher& entry : reachers_[source.slot()]) {
    if (entry.least <= source.number() && is_open(entry.slot, entry.number)) {
      blocks_reaching_.push_back(entry.slot);
    }
  }
}

void Reach::edge(Stamp source, std::uint32_t slot, EventNumber n) {
  if (source.slot() == slot || covered(known(slot), source)) return;
  ++counts_.edges;
  find_blocks_reaching(source);
  const bool closing = std::ranges::find(blocks_reaching_, slot) != blocks_reaching_.end();
  if (closing) {
    ++counts_.closings;
    if (violation_.event == 0) violation_ = {n, slots_[slot].owner};
  } else {
    // An event outside of blocks that is ordered after something new begins a run of its own.
    if (!slots_[slot].open) next_number(slot);
    if (!blocks_reaching_.empty()) ++counts_.propagated;
    const Stamp target = now_[slot];
    for (const std::uint32_t block : blocks_reaching_) {
      reaches(block, target);
      // By index: reaches() of another block leaves this list alone, but be plain about it.
      for (std::size_t i = 0; slots_[slot].open && i < slots_[slot].reached.size(); ++i) {
        const Stamp further = slots_[slot].reached[i];
        assert(further.slot() != block);  // or the edge would have closed a cycle
        reaches(block, further);
      }
    }
  }
  if (source.slot() < width_) {
    std::uint32_t& entry = known(slot)[source.slot()];
    entry = std::max(entry, source.number());
  }
}

void Reach::join_known(std::uint32_t slot, const std::uint32_t* row, std::size_t width) {
  std::uint32_t* const mine = known(slot);
  for (std::size_t i = 0; i < width; ++i) mine[i] = std::max(mine[i], row[i]);
}

// --- accesses

void Reach::slow_access(const Event& e, EventNumber n) {
  const std::uint32_t slot = active(e.thread);
  if (e.target >= variables_.size()) variables_.resize(grown(variables_.size(), e.target));
  if (e.kind == EventKind::kRead) {
    slow_read(variables_[e.target], slot, n);
  } else {
    slow_write(variables_[e.target], slot, n);
  }
}

void Reach::slow_read(Variable& v, std::uint32_t slot, EventNumber n) {
  edge(v.write, slot, n);
  const std::uint32_t* const row = known(slot);
  const auto superseded = [&](Stamp read) { return read.slot() == slot || covered(row, read); };
  if (v.read.slot() != kSharedReads) {
    if (superseded(v.read)) {
      v.read = now_[slot];
      return;
    }
    std::uint32_t index = 0;
    if (free_shared_reads_.empty()) {
      index = static_cast<std::uint32_t>(shared_reads_.size());
      shared_reads_.emplace_back();
    } else {
      index = free_shared_reads_.back();
      free_shared_reads_.pop_back();
    }
    shared_reads_[index].push_back(v.read);
    v.read = {kSharedReads, index};
  }
  ++counts_.shared_reads;
  std::vector<Stamp>& reads = shared_reads_[v.read.number()];
  std::erase_if(reads, superseded);
  reads.push_back(now_[slot]);
}

void Reach::slow_write(Variable& v, std::uint32_t slot, EventNumber n) {
  edge(v.write, slot, n);
  if (v.read.slot() == kSharedReads) {
    std::vector<Stamp>& reads = shared_reads_[v.read.number()];
    for (const Stamp read : reads) edge(read, slot, n);
    reads.clear();
    free_shared_reads_.push_back(v.read.number());
  } else {
    edge(v.read, slot, n);
  }
  v.write = now_[slot];
  v.read = {};
}

// --- locks and other synchronization

void Reach::publish(Channel& channel, std::uint32_t slot) {
  const std::uint32_t* const row = known(slot);
  std::erase_if(channel.stamps,
                [&](Stamp stamp) { return stamp.slot() == slot || covered(row, stamp); });
  channel.stamps.push_back(now_[slot]);
  if (channel.known.size() < width_) channel.known.resize(width_);
  for (std::size_t i = 0; i < width_; ++i) channel.known[i] = std::max(channel.known[i], row[i]);
}

void Reach::observe(const Channel& channel, std::uint32_t slot, EventNumber n) {
  for (const Stamp stamp : channel.stamps) edge(stamp, slot, n);
  join_known(slot, channel.known.data(), channel.known.size());
}

void Reach::take_release(Lock& l, std::uint32_t id, std::uint32_t slot, EventNumber n) {
  if (covered(known(slot), l.release)) return;
  edge(l.release, slot, n);
  join_known(slot, lock_known(id), width_);
}

void Reach::on_acquire(const Event& e, EventNumber n) {
  const std::uint32_t slot = active(e.thread);
  Lock& l = lock(e.target);
  take_release(l, e.target, slot, n);
  if (l.shared) [[unlikely]]
    observe(*l.shared, slot, n);
}

void Reach::on_release(const Event& e, EventNumber) {
  const std::uint32_t slot = active(e.thread);
  Lock& l = lock(e.target);
  l.release = now_[slot];
  l.shared.reset();  // all of them are before this thread's acquire
  std::copy_n(known(slot), width_, lock_known(e.target));
}

void Reach::on_acquire_shared(const Event& e, EventNumber n) {
  const std::uint32_t slot = active(e.thread);
  take_release(lock(e.target), e.target, slot, n);
}

void Reach::on_release_shared(const Event& e, EventNumber) {
  const std::uint32_t slot = active(e.thread);
  Lock& l = lock(e.target);
  if (!l.shared) l.shared = std::make_unique<Channel>();
  publish(*l.shared, slot);
}

void Reach::on_fork(const Event& e, EventNumber) {
  const std::uint32_t parent = active(e.thread);
  const std::uint32_t slot = slot_for_child(parent);
  thread(e.child()).slot = slot;
  slots_[slot].owner = e.child();
  std::copy_n(known(parent), width_, known(slot));
  next_number(slot);
  // The edge to whatever the child does first.
  find_blocks_reaching(now_[parent]);
  for (const std::uint32_t block : blocks_reaching_) reaches(block, now_[slot]);
}

void Reach::on_join(const Event& e, EventNumber n) {
  const std::uint32_t parent = active(e.thread);
  Thread& child = thread(e.child());
  if (active_[e.child().index()] == 0) return;  // it has had no event, which could be before this
  const bool again = child.last.slot() != 0;
  if (!again) child.last = now_[child.slot];
  edge(child.last, parent, n);
  if (again) return;
  slots_[child.slot].open = false;  // a block that is still open takes no more edges
  join_known(parent, known(child.slot), width_);
  free_slots_.push_back(child.slot);
}

void Reach::on_begin(const Event& e, EventNumber) {
  const std::uint32_t slot = active(e.thread);
  next_number(slot);
  slots_[slot].open = true;
  slots_[slot].reached.clear();
  ++counts_.blocks;
}

void Reach::on_end(const Event& e, EventNumber) {
  const std::uint32_t slot = active(e.thread);
  slots_[slot].open = false;
  next_number(slot);
}

void Reach::on_barrier_arrive(const Event& e, EventNumber) {
  const std::uint32_t slot = active(e.thread);
  Round& round = rounds_[{e.barrier(), barrier_rounds_.arrive(e.thread, e.barrier())}];
  ++round.inside;
  publish(round.arrivals, slot);
}

void Reach::on_barrier_leave(const Event& e, EventNumber n) {
  const std::uint32_t slot = active(e.thread);
  const auto round = rounds_.find({e.barrier(), barrier_rounds_.leave(e.thread, e.barrier())});
  if (round == rounds_.end()) return;
  observe(round->second.arrivals, slot, n);
  if (--round->second.inside == 0) rounds_.erase(round);
}

void Reach::on_post(const Event& e, EventNumber) {
  publish(semaphores_[e.target], active(e.thread));
}
void Reach::on_wait(const Event& e, EventNumber n) {
  observe(semaphores_[e.target], active(e.thread), n);
}
void Reach::on_happens_before(const Event& e, EventNumber) {
  publish(home_made_[e.target], active(e.thread));
}
void Reach::on_happens_after(const Event& e, EventNumber n) {
  observe(home_made_[e.target], active(e.thread), n);
}
void Reach::on_cond_signal(const Event& e, EventNumber) {
  publish(conditions_[e.target], active(e.thread));
}
void Reach::on_cond_broadcast(const Event& e, EventNumber n) {
  on_cond_signal(e, n);
}
void Reach::on_cond_wait(const Event& e, EventNumber n) {
  observe(conditions_[e.target], active(e.thread), n);
}

std::vector<Stat> Reach::stats() const {
  return {
      {"blocks", counts_.blocks},
      {"edges not known before", counts_.edges},
      {"edges from what an open block reaches", counts_.propagated},
      {"edges that close a cycle", counts_.closings},
      {"reads kept beside other reads", counts_.shared_reads},
      {"thread slots", slots_.size() - 1},
      {"thread slots used again", counts_.reused_slots},
  };
}

}  // namespace syndrome::check
