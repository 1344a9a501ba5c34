// Engine: what orders threads. Happens-before is that of check/races/happens_before.h; where
// the engine does not know, things count as ordered.

#include <cstring>

#include "engine/engine.h"

namespace syndrome::engine {
namespace {

bool acquires(Order order) {
  return order == Order::kAcquire || order == Order::kConsume || order == Order::kAcqRel ||
         order == Order::kSeqCst;
}
bool releases(Order order) {
  return order == Order::kRelease || order == Order::kAcqRel || order == Order::kSeqCst;
}
void join_into(std::uint32_t* into, const std::uint32_t* from, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) into[i] = into[i] < from[i] ? from[i] : into[i];
}

}  // namespace

void Engine::learn_all(Thread& thread) {
  thread.everything = true;
  std::memset(thread.clock, 0xff, sizeof thread.clock);
}

void Engine::learn(Thread& thread, const Clock& clock) {
  if (clock.everything) return learn_all(thread);
  if (clock.slot != 0 && thread.clock[clock.slot] >= clock.epoch) return;
  join_into(thread.clock, clock.entries, clock.size);
}

template <class Learn>
void Engine::learn_from(Thread& thread, Kind kind, std::uint64_t address, const Learn& learn) {
  objects_.with(kind, address, false, [&](const Object* object) {
    if (object != nullptr) {
      learn(*object);
    } else if (objects_.lost()) {
      learn_all(thread);
    }
  });
}

void Engine::learn_object(Thread& thread, Kind kind, std::uint64_t address) {
  learn_from(thread, kind, address, [&](const Object& object) { learn(thread, object.clock); });
}

std::uint32_t Engine::published(Thread& thread, bool& whole) {
  whole = thread.stored == thread.prefix;
  if (!whole) return thread.epoch - 1;
  const std::uint32_t epoch = thread.epoch;
  advance(thread);
  return epoch;
}

void Engine::put(const std::uint32_t* entries, std::uint32_t count, Clock& into, bool merge) {
  const std::uint32_t used = used_.load(std::memory_order_acquire);
  if (count > used) count = used;
  if (!objects_.pool().grow(into, count)) {
    into.everything = true;
    return;
  }
  if (merge) {
    join_into(into.entries, entries, count);
  } else {
    std::memcpy(into.entries, entries, count * sizeof *entries);
    if (into.size > count) {
      std::memset(into.entries + count, 0, (into.size - count) * sizeof *entries);
    }
    into.everything = false;
  }
}

void Engine::publish(Thread& thread, Clock& into, bool merge) {
  bool whole = false;
  const std::uint32_t epoch = published(thread, whole);
  if (thread.slot != 0) thread.clock[thread.slot] = epoch;
  put(thread.clock, kSlots, into, merge);
  if (thread.everything) into.everything = true;
  into.slot = merge || !whole ? 0 : thread.slot;
  into.epoch = epoch;
}

void Engine::publish_to(Thread& thread, Kind kind, std::uint64_t address) {
  objects_.with(kind, address, true, [&](Object* object) {
    if (object == nullptr) return objects_.lose();
    publish(thread, object->clock, true);
  });
}

void Engine::acquire(Thread& thread, std::uint64_t lock, bool shared) {
  const Inside inside(*this, thread);
  for (std::uint32_t i = 0; i < thread.held; ++i) {
    if (thread.holds[i].object != lock) continue;
    ++thread.holds[i].times;
    return;
  }
  boundary(thread);
  learn_from(thread, Kind::kLock, lock, [&](const Object& object) {
    learn(thread, object.clock);
    if (!shared && !object.shared.empty()) learn(thread, object.shared);
  });
  if (thread.held == Thread::kHolds) return;
  thread.holds[thread.held++] = {lock, thread.epoch, 1};
  if (thread.held_since == kNever) thread.held_since = thread.epoch;
  set_floor(thread);
}

void Engine::release(Thread& thread, std::uint64_t lock, bool shared) {
  const Inside inside(*this, thread);
  bool known = false;
  for (std::uint32_t i = 0; i < thread.held; ++i) {
    if (thread.holds[i].object != lock) continue;
    if (--thread.holds[i].times != 0) return;
    --thread.held;
    for (; i < thread.held; ++i) thread.holds[i] = thread.holds[i + 1];
    known = true;
    break;
  }
  objects_.with(Kind::kLock, lock, true, [&](Object* object) {
    if (object == nullptr) return objects_.lose();
    if (shared || !known) return publish(thread, shared ? object->shared : object->clock, true);
    publish(thread, object->clock, false);
    objects_.pool().clear(object->shared);  // whoever acquires this has come to know it
  });
  thread.held_since = thread.held == 0 ? kNever : thread.holds[0].since;
  set_floor(thread);
}

void Engine::arrive(Thread& thread, std::uint64_t barrier) {
  const Inside inside(*this, thread);
  const std::uint32_t round =
      objects_.with(Kind::kBarrier, barrier, true, [&](Object* object) -> std::uint32_t {
        if (object == nullptr) {
          objects_.lose();
          return 0;
        }
        if (object->closed) {
          if (!object->clock.empty()) {
            if (object->clock.everything) {
              object->shared.everything = true;
            } else {
              put(object->clock.entries, object->clock.size, object->shared, true);
            }
            objects_.pool().clear(object->clock);
          }
          object->closed = false;
          ++object->round;
        }
        publish(thread, object->clock, true);
        return object->round;
      });
  Arrival* place = &thread.arrivals[0];
  for (Arrival& arrival : thread.arrivals) {
    if (arrival.valid && arrival.object == barrier) {
      place = &arrival;
      break;
    }
    if (!arrival.valid) place = &arrival;
  }
  *place = {barrier, round, true};
}

void Engine::leave(Thread& thread, std::uint64_t barrier) {
  const Inside inside(*this, thread);
  for (Arrival& arrival : thread.arrivals) {
    if (!arrival.valid || arrival.object != barrier) continue;
    arrival.valid = false;
    objects_.with(Kind::kBarrier, barrier, false, [&](Object* object) {
      if (object == nullptr) {
        if (objects_.lost()) learn_all(thread);
      } else if (arrival.round == object->round) {
        learn(thread, object->clock);
        object->closed = true;
      } else {
        learn(thread, object->shared);
      }
    });
    break;
  }
  boundary(thread);
  waited(thread);
}

void Engine::post(Thread& thread, std::uint64_t semaphore) {
  const Inside inside(*this, thread);
  publish_to(thread, Kind::kSemaphore, semaphore);
}

void Engine::wait(Thread& thread, std::uint64_t semaphore) {
  const Inside inside(*this, thread);
  learn_object(thread, Kind::kSemaphore, semaphore);
  boundary(thread);
  waited(thread);
}

void Engine::waited(Thread& thread) {
  const Inside inside(*this, thread);
  boundary(thread);
  thread.wait_floor = thread.epoch;
}

void Engine::happens_before(Thread& thread, std::uint64_t object) {
  const Inside inside(*this, thread);
  publish_to(thread, Kind::kAnnotation, object);
}

void Engine::happens_after(Thread& thread, std::uint64_t object) {
  const Inside inside(*this, thread);
  learn_object(thread, Kind::kAnnotation, object);
}

void Engine::fence(Thread& thread, Order order) {
  const Inside inside(*this, thread);
  if (acquires(order) && thread.waits_fence) {
    join_into(thread.clock, thread.pending, kSlots);
    std::memset(thread.pending, 0, sizeof thread.pending);
    thread.waits_fence = false;
  }
  if (releases(order)) {
    bool whole = false;
    const std::uint32_t epoch = published(thread, whole);
    if (thread.slot != 0) thread.clock[thread.slot] = epoch;
    std::memcpy(thread.released, thread.clock, sizeof thread.released);
    thread.fenced = true;
  }
}

void Engine::atomic(Thread& thread, Atomic what, std::uint64_t address, std::uint64_t bytes,
                    Order order, std::uint32_t site) {
  const Inside inside(*this, thread);
  if (what != Atomic::kStore) {
    learn_from(thread, Kind::kAtomic, address, [&](const Object& object) {
      if (acquires(order) || object.clock.everything) return learn(thread, object.clock);
      if (object.clock.empty()) return;
      join_into(thread.pending, object.clock.entries, object.clock.size);
      thread.waits_fence = true;
    });
  }
  range(thread, address, bytes, what != Atomic::kLoad, true, site);
  if (what == Atomic::kLoad) return;
  // A store ends the release sequence, and begins one when it releases; an rmw carries it on.
  if (!releases(order) && !thread.fenced) {
    if (what == Atomic::kStore) objects_.remove(Kind::kAtomic, address);
    return;
  }
  objects_.with(Kind::kAtomic, address, true, [&](Object* object) {
    if (object == nullptr) return objects_.lose();
    const bool goes_on = what == Atomic::kRmw && !object->clock.empty();
    if (releases(order)) {
      publish(thread, object->clock, goes_on && !acquires(order));
    } else {
      put(thread.released, kSlots, object->clock, goes_on);
      if (thread.everything) object->clock.everything = true;
      object->clock.slot = 0;
    }
  });
}

void Engine::destroy(std::uint64_t object) {
  objects_.remove(Kind::kLock, object);
  objects_.remove(Kind::kSemaphore, object);
  objects_.remove(Kind::kBarrier, object);
}

}  // namespace syndrome::engine
