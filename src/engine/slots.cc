// Engine: threads come, get a slot, and go; and what happens when slots or epochs run out.

#include "engine/slots.h"

#include <cstring>
#include <new>

#include "engine/engine.h"

namespace syndrome::engine {

bool Engine::start(const Host& host, const Cells& cells, const Limits& limits) {
  host_ = host;
  cells_ = cells;
  limits_ = limits;
  if (limits_.slots >= kSlots) limits_.slots = kSlots - 1;
  slots_ = static_cast<Slot*>(host_.map(host_.context, sizeof(Slot) * kSlots));
  notes_ = static_cast<Notes*>(host_.map(host_.context, sizeof(Notes) * kSlots));
  if (slots_ == nullptr || notes_ == nullptr) return false;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    slots_[i].open_since.store(kNever, std::memory_order_relaxed);
  }
  return units_.start(host_) && contexts_.start(host_, limits_) && objects_.start(host_, limits_) &&
         pairs_.start(host_) && tries_.start(host_);
}

void Engine::fork(Thread& parent, std::uint64_t child) {
  const Inside inside(*this, parent);
  publish_to(parent, Kind::kThread, child);
  boundary(parent);
  parent.fork_floor = parent.epoch;
  set_floor(parent);
}

void Engine::start(Thread& thread, std::uint64_t number) {
  new (&thread) Thread;  // without (): its frames would become zeros, all of them
  thread.number = number;
  thread.node = contexts_.root();
  thread.live = true;
  {
    const Locked locked(spin_);
    thread.next_live = live_;
    live_ = &thread;
  }
  {
    const Inside inside(*this, thread);
    learn_object(thread, Kind::kThread, number);
  }
  find_slot(thread);
}

void Engine::stop(Thread& thread) {
  if (!thread.live) return;
  {
    const Inside inside(*this, thread);
    publish_to(thread, Kind::kThread, thread.number);
  }
  const Locked locked(spin_);
  give_slot(thread);
  thread.live = false;
  for (Thread** link = &live_; *link != nullptr; link = &(*link)->next_live) {
    if (*link != &thread) continue;
    *link = thread.next_live;
    break;
  }
}

void Engine::join(Thread& thread, std::uint64_t child) {
  {
    const Inside inside(*this, thread);
    boundary(thread);
    learn_object(thread, Kind::kThread, child);
    thread.fork_floor = thread.epoch;
    set_floor(thread);
  }
}

bool Engine::take_slot(Thread& thread) {
  for (std::uint32_t i = 1; i <= limits_.slots; ++i) {
    Slot& slot = slots_[i];
    if (slot.busy || slot.last_epoch >= limits_.epochs || slot.last_epoch > thread.clock[i]) {
      continue;
    }
    slot.busy = true;
    thread.slot = i;
    thread.epoch = slot.last_epoch + 1;
    thread.prefix = prefix_of(i, thread.epoch);
    thread.wants_slot = false;
    if (i >= used_.load(std::memory_order_relaxed)) {
      used_.store(i + 1, std::memory_order_release);
    }
    rebase(thread);
    set_floor(thread);
    return true;
  }
  return false;
}

void Engine::give_slot(Thread& thread) {
  if (thread.slot == 0) return;
  Slot& slot = slots_[thread.slot];
  slot.open_since.store(kNever, std::memory_order_release);
  slot.last_epoch = thread.epoch;
  slot.busy = false;
  thread.clock[thread.slot] = thread.epoch;
  thread.slot = 0;
  thread.prefix = prefix_of(0, thread.epoch);
}

void Engine::find_slot(Thread& thread) {
  const Locked locked(spin_);
  if (thread.slot != 0 || take_slot(thread)) return;
  // One that nobody has now was left with work of which this thread does not know, or its epochs
  // have been used up: all begin anew. When somebody has each of them, this thread has none.
  for (std::uint32_t i = 1; i <= limits_.slots; ++i) {
    if (!slots_[i].busy) return renew_all(thread);
  }
  thread.prefix = prefix_of(0, thread.epoch);
}

void Engine::change_slot(Thread& thread) {
  ++thread.counters.switches;
  {
    const Locked locked(spin_);
    if (!thread.wants_slot) return;
    thread.wants_slot = false;
    give_slot(thread);
  }
  find_slot(thread);
}

void Engine::rebase(Thread& thread) {
  const std::uint32_t frames = thread.depth < Thread::kFrames ? thread.depth : Thread::kFrames;
  for (std::uint32_t i = 0; i < frames; ++i) thread.frames[i].begin = thread.epoch;
  for (std::uint32_t i = 0; i < thread.held; ++i) thread.holds[i].since = thread.epoch;
  if (thread.open_since != kNever) thread.open_since = thread.epoch;
  if (thread.held_since != kNever) thread.held_since = thread.epoch;
  thread.fork_floor = thread.wait_floor = thread.epoch;
  thread.stored = 0;
  thread.evicted_last = 0;  // what is there was in another slot, or is of an earlier era
}

void Engine::renew_all(Thread& caller) {
  renewing_.store(true, std::memory_order_seq_cst);
  for (Thread* other = live_; other != nullptr; other = other->next_live) {
    if (other == &caller) continue;
    while (other->inside.load(std::memory_order_seq_cst) != 0) host_.pause(host_.context);
  }
  host_.clear_cells(host_.context);
  objects_.begin_era();
  const std::uint32_t used = used_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < used; ++i) {
    slots_[i].open_since.store(kNever, std::memory_order_relaxed);
    slots_[i].noted.store(0, std::memory_order_relaxed);
    slots_[i].last_epoch = 0;
    slots_[i].busy = false;
    for (Notes::Set& set : notes_[i].sets) {
      for (Notes::Part& part : set.parts) {
        for (Note& each : part.notes) each.theirs.store(0, std::memory_order_relaxed);
      }
    }
  }
  used_.store(1, std::memory_order_relaxed);
  for (Thread* thread = live_; thread != nullptr; thread = thread->next_live) {
    std::memset(thread->clock, 0, sizeof thread->clock);
    std::memset(thread->released, 0, sizeof thread->released);
    std::memset(thread->pending, 0, sizeof thread->pending);
    thread->fenced = thread->waits_fence = thread->everything = false;
    thread->wants_slot = false;
    thread->slot = 0;
    thread->epoch = 0;
    thread->prefix = 0;
    if (!take_slot(*thread)) {
      rebase(*thread);
      set_floor(*thread);
    }
  }
  resets_.fetch_add(1, std::memory_order_relaxed);
  renewing_.store(false, std::memory_order_seq_cst);
}

void Engine::set_floor(Thread& thread) {
  const std::uint32_t low =
      thread.open_since < thread.held_since ? thread.open_since : thread.held_since;
  const std::uint32_t floor = low == kNever             ? kNever
                              : low > thread.fork_floor ? low
                                                        : thread.fork_floor;
  thread.loose = thread.held == 0;
  if (thread.slot == 0) {
    thread.floor = floor;
    return;
  }
  thread.floor = floor;
  std::atomic<std::uint32_t>& open = slots_[thread.slot].open_since;
  if (open.load(std::memory_order_relaxed) != floor) open.store(floor, std::memory_order_release);
}

}  // namespace syndrome::engine
