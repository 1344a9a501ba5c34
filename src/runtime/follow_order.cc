// What threads know of each other, and so what need not be told (event/sieve.h).
//
// State, and who may touch it:
//   begins, positions, alive     of a slot: its thread; others only look
//   horizons                     under horizon_lock; anyone looks

#include <sys/mman.h>

#include "runtime/follow.h"
#include "runtime/follow_cells.h"
#include "runtime/follower.h"
#include "runtime/sys.h"

namespace syndrome::rt {
namespace {

std::atomic<Follower*> followers[sieve::kSlots];
Word positions[sieve::kSlots];            // where the slot's next thread begins
std::atomic<Word> begins[sieve::kSlots];  // of the blocks that are open
std::atomic<std::uint32_t> slot_count{0};
sieve::Horizon horizons;  // under horizon_lock, but to be looked at
std::atomic<std::uint32_t> horizon_lock{0};
std::atomic<bool> alive[sieve::kSlots];
std::atomic<std::int32_t> unborn{0};  // threads that were forked and have not begun

/// Now and then: it only saves room in cells.
void look_around() {
  if (unborn.load(std::memory_order_acquire) != 0) return;
  if (horizon_lock.exchange(1, std::memory_order_acquire) != 0) return;
  const std::uint32_t count = slot_count.load(std::memory_order_acquire);
  horizons.begin();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!alive[i].load(std::memory_order_acquire)) continue;
    horizons.see(followers[i].load(std::memory_order_relaxed)->thread);
  }
  // A thread that was forked meanwhile may know less than its parent does by now.
  if (unborn.load(std::memory_order_acquire) == 0) horizons.end();
  horizon_lock.store(0, std::memory_order_release);
}

[[nodiscard]] Word key_of_thread(std::uintptr_t number) {
  return number | (Word{1} << 61);
}

SyncClock& take_clock(Follower& self, Word object, bool in_memory) {
  SyncClock& clock = lock_clock(object, in_memory);
  self.clock = &clock;
  return clock;
}
void give_clock(Follower& self) {
  unlock_clock(*self.clock);
  self.clock = nullptr;
}

/// What those who come behind know.
void release(Follower& self, Word object, bool in_memory) {
  SyncClock& clock = take_clock(self, object, in_memory);
  self.thread.publish(clock.rounds.clocks[0], slot_count.load(std::memory_order_relaxed));
  give_clock(self);
}
void acquire(Follower& self, Word object, bool in_memory) {
  SyncClock& clock = take_clock(self, object, in_memory);
  self.thread.known.join(clock.rounds.clocks[0], slot_count.load(std::memory_order_relaxed));
  give_clock(self);
}

}  // namespace

void set_begin(Follower& self) {
  self.mine.set(self.thread);
  begins[self.thread.slot].store(self.thread.begin, std::memory_order_relaxed);
}
Word begin_of(std::uint32_t slot) {
  return begins[slot].load(std::memory_order_relaxed);
}
Word horizon_of(std::uint32_t slot) {
  return horizons.of(slot);
}
std::uint32_t slots_in_use() {
  return slot_count.load(std::memory_order_acquire);
}
Follower* follower_of(std::uint32_t slot) {
  return alive[slot].load(std::memory_order_acquire)
             ? followers[slot].load(std::memory_order_acquire)
             : nullptr;
}

void reset_order() {
  for (std::atomic<Follower*>& each : followers) {
    Follower* const follower = each.load(std::memory_order_relaxed);
    if (follower == nullptr) continue;
    // In a forked child. The line that its thread had may still be written to.
    if (follower != tls.follower) sys::unmap(follower, sizeof(Follower));
    each.store(nullptr, std::memory_order_relaxed);
  }
  for (std::uint32_t i = 0; i < sieve::kSlots; ++i) {
    positions[i] = 1;
    begins[i].store(0, std::memory_order_relaxed);
    alive[i].store(false, std::memory_order_relaxed);
  }
  slot_count.store(0, std::memory_order_relaxed);
  unborn.store(0, std::memory_order_relaxed);
  horizons.clear();
  horizon_lock.store(0, std::memory_order_relaxed);
}

Follower* begin_order(std::uint32_t slot) {
  if (slot >= sieve::kSlots) return nullptr;
  Follower* follower = followers[slot].load(std::memory_order_acquire);
  if (follower == nullptr) {
    follower = static_cast<Follower*>(sys::map(sizeof(Follower), PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (follower == nullptr) return nullptr;
    followers[slot].store(follower, std::memory_order_release);
  }
  std::uint32_t count = slot_count.load(std::memory_order_relaxed);
  while (count <= slot && !slot_count.compare_exchange_weak(count, slot + 1)) {
  }
  begins[slot].store(0, std::memory_order_relaxed);
  sieve::Thread& thread = follower->thread;
  thread = {};
  thread.slot = slot;
  thread.first = thread.position = thread.since = positions[slot];
  return follower;
}

void end_order(Follower& self) {
  const std::uint32_t slot = self.thread.slot;
  alive[slot].store(false, std::memory_order_release);
  positions[slot] = self.thread.position;
  begins[slot].store(0, std::memory_order_relaxed);
}

void before_sync(wire::Sync kind, std::uintptr_t object, wire::Word operand, std::uint32_t site) {
  settle();
  Follower* const self = tls.follower;
  if (self == nullptr) return;
  ++tls.busy;
  tell_frames(*self);
  switch (kind) {
    case wire::Sync::kAlloc: renew(*self, object, operand); break;
    case wire::Sync::kDestroy: forget_clock(object); break;
    case wire::Sync::kAtomicLoad:
    case wire::Sync::kAtomicStore:
    case wire::Sync::kAtomicRmw: {
      Access access;
      access.atomic = true;
      access.write = kind != wire::Sync::kAtomicLoad;
      if (self->depth != 0 && self->lost_depth == 0) {
        const Follower::Sites& sites =
            sites_of_function(*self, self->frames[self->depth - 1].function);
        if (site - 1 < sites.count) access.site = sites.base + site - 1;
      }
      Host host{*self, site};
      const Word bytes = operand & 0xff;
      if (object + bytes <= wire::kAddressMask) follow_atomic(host, access, object, bytes);
      break;
    }
    default: break;
  }
  --tls.busy;
}

void after_sync(wire::Sync kind, std::uintptr_t object, wire::Word operand) {
  Follower* const follower = tls.follower;
  if (follower == nullptr) return;
  Follower& self = *follower;
  using wire::Sync;
  // Those are no events.
  if (kind == Sync::kAlloc || kind == Sync::kFree || kind == Sync::kDestroy) return;
  ++tls.busy;
  told(self);
  const std::uint32_t slots = slot_count.load(std::memory_order_relaxed);
  switch (kind) {
    case Sync::kThreadStart:
      acquire(self, key_of_thread(object), false);
      alive[self.thread.slot].store(true, std::memory_order_release);
      if (object != 0) unborn.fetch_sub(1, std::memory_order_acq_rel);
      look_around();
      break;
    case Sync::kJoin:
      acquire(self, key_of_thread(object), false);
      look_around();
      break;
    case Sync::kThreadStop: release(self, key_of_thread(object), false); break;
    case Sync::kFork:
      unborn.fetch_add(1, std::memory_order_acq_rel);
      release(self, key_of_thread(object), false);
      break;
    case Sync::kAcquire:
      if (self.locks) acquire(self, object, true);
      break;
    case Sync::kRelease:
      if (self.locks) release(self, object, true);
      break;
    case Sync::kBarrierArrive: {
      sieve::Known known{};
      self.thread.publish(known, slots);
      SyncClock& clock = take_clock(self, object, true);
      self.round = clock.rounds.arrive(known, slots);
      self.round_life = clock.life;
      give_clock(self);
      break;
    }
    case Sync::kBarrierLeave: {
      SyncClock& clock = take_clock(self, object, true);
      if (clock.life == self.round_life) {
        clock.rounds.leave(self.thread.known, self.round, slots);
      }
      give_clock(self);
      look_around();
      break;
    }
    case Sync::kBlockBegin:
      if (static_cast<wire::Block>(operand) == wire::Block::kAtomic && self.scopes++ == 0 &&
          self.blocks == 0) {
        self.thread.begin_block(false, slots);
        set_begin(self);
      }
      break;
    case Sync::kBlockEnd:
      if (static_cast<wire::Block>(operand) == wire::Block::kAtomic && self.scopes != 0 &&
          --self.scopes == 0 && self.blocks == 0) {
        self.thread.end_block();
        set_begin(self);
      }
      break;
    default: break;
  }
  --tls.busy;
}

}  // namespace syndrome::rt
