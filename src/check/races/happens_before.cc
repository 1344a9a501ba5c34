#include "check/races/happens_before.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace syndrome::check {
namespace {

/// The element of a table that grows as the trace mentions new ids.
template <class Value>
Value& at(std::vector<Value>& table, std::size_t index) {
  if (index >= table.size()) table.resize(index + 1);
  return table[index];
}

}  // namespace

HappensBefore::Thread& HappensBefore::introduce(ThreadId id) {
  Thread& thread = at(threads_, id.index());
  if (thread.slot == kNoSlot) {
    thread.slot = take_slot(nullptr);
    thread.clock.set(thread.slot, kNow);
  }
  return thread;
}

HappensBefore::Thread& HappensBefore::acting(const Event& e, EventNumber n) {
  Thread& thread = known(e.thread);
  thread.last = n;
  return thread;
}

std::uint32_t HappensBefore::take_slot(const Thread* forker) {
  if (forker != nullptr) {
    const auto known_whole = [&](std::uint32_t slot) {
      return forker->clock[slot] >= slots_[slot].ended;
    };
    const auto found = std::ranges::find_if(ended_slots_, known_whole);
    if (found != ended_slots_.end()) {
      const std::uint32_t slot = *found;
      *found = ended_slots_.back();
      ended_slots_.pop_back();
      return slot;
    }
  }
  if (slots_.size() == kMaxSlots) {
    too_many_threads_ = true;  // the caller stops; until then, threads that share a slot do no harm
    return 0;
  }
  slots_.emplace_back();
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

void HappensBefore::end_thread(Thread& thread) {
  if (thread.ended) return;
  thread.ended = true;
  thread.clock.set(thread.slot, thread.last);
  slots_[thread.slot].ended = thread.last;
  if (!too_many_threads_) ended_slots_.push_back(thread.slot);
  thread.fences.reset();
}

void HappensBefore::learn(Thread& thread, const Released& released) {
  if (released.number != 0 && thread.clock[released.slot] >= released.number) return;
  thread.clock.join(released.clock);
}

void HappensBefore::learn(Thread& thread, const clock::VectorClock& clock) {
  thread.clock.join(clock);
}

void HappensBefore::publish(Thread& thread, EventNumber n, Released& into) {
  into.clock = thread.clock;
  into.clock.set(thread.slot, n);
  into.slot = thread.slot;
  into.number = n;
  thread.published = n;
}

void HappensBefore::publish(Thread& thread, EventNumber n, clock::VectorClock& into) {
  const EventNumber before = into[thread.slot];
  into.join(thread.clock);
  into.set(thread.slot, std::max(before, n));
  thread.published = n;
}

void HappensBefore::on_acquire(const Event& e, EventNumber n) {
  Thread& thread = acting(e, n);
  const Lock& lock = at(locks_, e.target);
  learn(thread, lock.exclusive);
  learn(thread, lock.shared);
}

void HappensBefore::on_release(const Event& e, EventNumber n) {
  Thread& thread = acting(e, n);
  Lock& lock = at(locks_, e.target);
  publish(thread, n, lock.exclusive);
  lock.shared.clear();  // the acquire of this release has learned it
}

void HappensBefore::on_acquire_shared(const Event& e, EventNumber n) {
  learn(acting(e, n), at(locks_, e.target).exclusive);
}

void HappensBefore::on_release_shared(const Event& e, EventNumber n) {
  publish(acting(e, n), n, at(locks_, e.target).shared);
}

void HappensBefore::on_fork(const Event& e, EventNumber n) {
  (void)at(threads_, std::max(e.child().index(), e.thread.index()));
  Thread& forker = acting(e, n);
  Thread& child = threads_[e.child().index()];
  child.slot = take_slot(&forker);
  child.clock = forker.clock;
  child.clock.set(forker.slot, n);
  child.clock.set(child.slot, kNow);
  // Not less than what the slot had before, should the child never do anything.
  child.published = n;
  child.last = n;
  forker.published = n;
}

void HappensBefore::on_join(const Event& e, EventNumber n) {
  (void)at(threads_, std::max(e.child().index(), e.thread.index()));
  Thread& thread = acting(e, n);
  Thread& child = threads_[e.child().index()];
  if (child.slot == kNoSlot) return;  // never heard of
  end_thread(child);
  learn(thread, child.clock);
}

void HappensBefore::on_thread_stop(const Event& e, EventNumber) {
  end_thread(known(e.thread));  // the stop itself is nothing that others have to know
}

void HappensBefore::on_barrier_arrive(const Event& e, EventNumber n) {
  Thread& thread = acting(e, n);
  Barrier& barrier = at(barriers_, e.target);
  if (barrier.closed) {
    barrier.open = std::make_shared<clock::VectorClock>();
    barrier.closed = false;
  }
  publish(thread, n, *barrier.open);
  barrier.arrived[e.thread] = barrier.open;
}

void HappensBefore::on_barrier_leave(const Event& e, EventNumber n) {
  Thread& thread = acting(e, n);
  Barrier& barrier = at(barriers_, e.target);
  const auto arrived = barrier.arrived.find(e.thread);
  if (arrived == barrier.arrived.end()) return;
  learn(thread, *arrived->second);
  if (arrived->second == barrier.open) barrier.closed = true;
  barrier.arrived.erase(arrived);
}

void HappensBefore::on_post(const Event& e, EventNumber n) {
  publish(acting(e, n), n, at(semaphores_, e.target));
}

void HappensBefore::on_wait(const Event& e, EventNumber n) {
  learn(acting(e, n), at(semaphores_, e.target));
}

void HappensBefore::on_happens_before(const Event& e, EventNumber n) {
  publish(acting(e, n), n, at(objects_, e.target));
}

void HappensBefore::on_happens_after(const Event& e, EventNumber n) {
  learn(acting(e, n), at(objects_, e.target));
}

void HappensBefore::on_fence(const Event& e, EventNumber n) {
  Thread& thread = acting(e, n);
  const MemoryOrder order = order_of(e);
  if (acquires(order) && thread.fences != nullptr) {
    learn(thread, thread.fences->pending);
    thread.fences->pending.clear();
  }
  if (releases(order)) {
    if (thread.fences == nullptr) thread.fences = std::make_unique<Fences>();
    publish(thread, n, thread.fences->released);
  }
}

void HappensBefore::begin_atomic(const Event& e, Thread& thread) {
  if (e.kind == EventKind::kWrite || e.target >= written_.size()) return;
  const Released* const written = written_[e.target].get();
  if (written == nullptr) return;
  if (acquires(order_of(e))) return learn(thread, *written);
  if (written->number != 0 && thread.clock[written->slot] >= written->number) return;
  if (thread.fences == nullptr) thread.fences = std::make_unique<Fences>();
  thread.fences->pending.join(written->clock);
}

void HappensBefore::end_atomic(const Event& e, EventNumber n) {
  Thread& thread = threads_[e.thread.index()];
  const MemoryOrder order = order_of(e);
  const Released* const fence = thread.fences == nullptr || thread.fences->released.empty()
                                    ? nullptr
                                    : &thread.fences->released;
  std::unique_ptr<Released>& written = at(written_, e.target);
  const bool goes_on = e.kind == EventKind::kRmw && written != nullptr;
  if (!releases(order) && fence == nullptr) {
    if (!goes_on) written.reset();  // ends the release sequence, and begins none
    return;
  }
  if (written == nullptr) written = std::make_unique<Released>();
  if (releases(order)) {
    if (goes_on && !acquires(order)) {
      publish(thread, n, written->clock);
      written->number = 0;
    } else {
      publish(thread, n, *written);  // an rmw that acquires knows what is there
    }
  } else if (goes_on) {
    written->clock.join(fence->clock);
    written->number = 0;
  } else {
    *written = *fence;
  }
}

}  // namespace syndrome::check
