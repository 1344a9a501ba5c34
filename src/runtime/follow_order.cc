// What threads know of each other, and so what need not be told (event/sieve.h).
//
// State, and who may touch it:
//   begins, positions, alive     of a slot: its thread; others only look
//   horizons                     under horizon_lock; anyone looks
//   past                         see sieve::Past

#include <sys/mman.h>

#include "runtime/filter.h"
#include "runtime/follow.h"
#include "runtime/follow_cells.h"
#include "runtime/follow_pages.h"
#include "runtime/follower.h"
#include "runtime/sys.h"

namespace syndrome::rt {

sieve::Past past;
sieve::Clear clear;
sieve::Horizon horizons;  // under horizon_lock, but to be looked at
std::atomic<Word> begins[sieve::kSlots];

namespace {

std::atomic<Follower*> followers[sieve::kSlots];
Word positions[sieve::kSlots];  // where the slot's next thread begins
std::atomic<std::uint32_t> slot_count{0};
std::atomic<std::uint32_t> horizon_lock{0};
std::atomic<std::uint32_t> past_lock{0};  // who advances all slots
std::atomic<bool> alive[sieve::kSlots];
std::atomic<std::int32_t> unborn{0};  // threads that were forked and have not begun
std::atomic<std::int32_t> living{0};  // that follow
std::atomic<bool> forked{false};      // ever
std::atomic<bool> in_blocks{false};   // someone has been, ever

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

/// What the thread does up to `position` comes before whatever others do here later.
void leave_mark(const Follower& self, SyncClock& clock, Word position) {
  const std::uint32_t slot = self.thread.slot;
  if (slot < sieve::kKnown) {
    clock.met.at[slot] = position;
  } else {
    clock.met_unknown = true;
  }
}
void read_marks(Follower& self, const SyncClock& clock) {
  if (clock.met_unknown) self.thread.after_unknown = true;
  self.thread.comes_after(clock.met, slot_count.load(std::memory_order_relaxed));
}

/// What those who come behind know.
void release(Follower& self, Word object, bool in_memory) {
  SyncClock& clock = take_clock(self, object, in_memory);
  self.thread.publish(clock.rounds.clocks[0], slot_count.load(std::memory_order_relaxed));
  clock.last.told(self.thread);
  leave_mark(self, clock, self.thread.position);
  give_clock(self);
}
void acquire(Follower& self, Word object, bool in_memory) {
  SyncClock& clock = take_clock(self, object, in_memory);
  self.thread.known.join(clock.rounds.clocks[0], slot_count.load(std::memory_order_relaxed));
  read_marks(self, clock);
  give_clock(self);
}

/// An operation that comes before and after others of its object, in an order that is not known
/// here: a mark before it, which those that come later see; and theirs are read behind it.
[[nodiscard]] bool meets(wire::Sync kind) {
  using wire::Sync;
  switch (kind) {
    case Sync::kPost:
    case Sync::kWait:
    case Sync::kCondWait:
    case Sync::kCondSignal:
    case Sync::kCondBroadcast:
    case Sync::kAtomicLoad:
    case Sync::kAtomicStore:
    case Sync::kAtomicRmw:
    case Sync::kHappensBefore:
    case Sync::kHappensAfter: return true;
    default: return false;
  }
}
/// Atomics of different sizes meet.
[[nodiscard]] Word place_of(Word object) {
  return (object >> 4) | (Word{1} << 60);
}

/// What is past may be more by now.
void raise_past(Follower& self) {
  const sieve::Thread& thread = self.thread;
  if (!thread.only_atomicity || thread.after_unknown) return;
  const std::uint32_t slots = slot_count.load(std::memory_order_relaxed);
  past.set_limit(thread.slot, thread.limit());
  if (past.advance(thread.slot, thread.before, slots)) {
    self.mine.past = past.of(thread.slot) << sieve::kPositionShift;
    return;
  }
  constexpr std::uint32_t kPatience = 32;
  if (++self.held_back % kPatience == 0) advance_past();
}

}  // namespace

void advance_past() {
  const std::uint32_t slots = slot_count.load(std::memory_order_relaxed);
  if (past_lock.exchange(1, std::memory_order_acquire) != 0) return;
  past.advance_all(slots, [](std::uint32_t slot) -> const sieve::Known& {
    return followers[slot].load(std::memory_order_acquire)->thread.before;
  });
  past_lock.store(0, std::memory_order_release);
}

void pass(Follower& self) {
  raise_past(self);
  passed(self);
  if (tls.draft != nullptr && self.thread.begin == 0) pass_draft(self);
}
void set_begin(Follower& self) {
  pass(self);
  self.mine.set(self.thread);
  tls.keeps_key = false;
  new_segment();
  tls.keeps_key = self.thread.whole;
  if (self.thread.begin != 0 && !in_blocks.load(std::memory_order_relaxed)) {
    in_blocks.store(true, std::memory_order_relaxed);
  }
  begins[self.thread.slot].store(self.thread.begin, std::memory_order_relaxed);
}
Follower* follower_at(std::uint32_t slot) {
  return followers[slot].load(std::memory_order_acquire);
}
bool is_alone(const Follower& self) {
  if (self.thread.begin != 0) return false;
  // A cycle lies between two events of one block: what came before the first one is in none.
  if (self.thread.only_atomicity && !in_blocks.load(std::memory_order_relaxed)) return true;
  if (living.load(std::memory_order_acquire) != 1 || unborn.load(std::memory_order_acquire) != 0) {
    return false;
  }
  // What is ordered by nothing but being over may still race.
  return self.thread.only_atomicity || (self.locks && !forked.load(std::memory_order_relaxed));
}
void never_alone() {
  unborn.fetch_add(1, std::memory_order_acq_rel);
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
  living.store(0, std::memory_order_relaxed);
  forked.store(false, std::memory_order_relaxed);
  in_blocks.store(false, std::memory_order_relaxed);
  forget_drafts();
  horizons.clear();
  past.clear();
  clear.clear();
  past_lock.store(0, std::memory_order_relaxed);
  horizon_lock.store(0, std::memory_order_relaxed);
}

Follower* begin_order(std::uint32_t slot) {
  if (slot >= sieve::kSlots) return nullptr;
  Follower* follower = followers[slot].load(std::memory_order_acquire);
  if (follower == nullptr) {
    follower = static_cast<Follower*>(sys::map(sizeof(Follower), PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (follower == nullptr) return nullptr;
    follower->filter.mask = filter::mask_of(filter::kLeastBytes);
    followers[slot].store(follower, std::memory_order_release);
  }
  std::uint32_t count = slot_count.load(std::memory_order_relaxed);
  while (count <= slot && !slot_count.compare_exchange_weak(count, slot + 1)) {
  }
  begins[slot].store(0, std::memory_order_relaxed);
  living.fetch_add(1, std::memory_order_acq_rel);
  sieve::Thread& thread = follower->thread;
  const sieve::Known before = thread.before;
  const bool after_unknown = thread.after_unknown;
  sieve::Thread fresh{};
  fresh.before = before;
  fresh.after_unknown = after_unknown;
  fresh.slot = slot;
  fresh.first = fresh.position = fresh.since = fresh.told_at = positions[slot];
  thread = fresh;
  follower->held_back = 0;
  return follower;
}

bool comes_behind_slot(std::uint32_t thread, std::uint32_t slot) {
  if (slot >= sieve::kKnown) return false;
  if (positions[slot] <= 1) return true;
  SyncClock& clock = lock_place(key_of_thread(thread));
  const bool known =
      clock.object == key_of_thread(thread) && clock.rounds.clocks[0].at[slot] >= positions[slot];
  unlock_clock(clock);
  return known;
}

void end_order(Follower& self) {
  const std::uint32_t slot = self.thread.slot;
  alive[slot].store(false, std::memory_order_release);
  living.fetch_sub(1, std::memory_order_acq_rel);
  positions[slot] = self.thread.position;
  begins[slot].store(0, std::memory_order_relaxed);
}

namespace {

[[nodiscard]] bool acquires(wire::Sync kind, std::uint32_t order) {
  return kind != wire::Sync::kAtomicStore && order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}
[[nodiscard]] bool releases(wire::Sync kind, std::uint32_t order) {
  return kind != wire::Sync::kAtomicLoad && order >= __ATOMIC_RELEASE;
}

[[nodiscard]] Access atomic_access(Follower& self, wire::Sync kind, std::uint32_t order,
                                   std::uint32_t site) {
  Access access;
  access.atomic = true;
  access.write = kind != wire::Sync::kAtomicLoad;
  access.orders = access.write && order != __ATOMIC_RELAXED;
  // Only where the cells have atomics in their order.
  access.acquires = self.quiet_on && acquires(kind, order);
  access.releases = self.quiet_on && releases(kind, order);
  if (self.depth != 0 && self.lost_depth == 0) {
    const Follower::Sites& sites = sites_of_function(self, self.frames[self.depth - 1].function);
    if (site - 1 < sites.count) access.site = sites.base + site - 1;
  }
  return access;
}

}  // namespace

namespace {

/// What the operation makes known.
void join_clock(Follower& self, wire::Sync kind, std::uintptr_t object, std::uint32_t what) {
  const std::uint32_t order = (what >> 16) & 0xff;
  const bool store = kind == wire::Sync::kAtomicStore;
  const bool acquired = acquires(kind, order);
  const bool released = releases(kind, order);
  if (!acquired && !released && !store) return;
  SyncClock& clock = take_clock(self, object, true);
  // Of another size, it is another object, as far as is known here.
  const std::uint32_t bytes = (what >> 8) & 0xff;
  if (clock.atomic_bytes != bytes) clock.atomic = {};
  clock.atomic_bytes = bytes;
  clock.atomic.perform(self.thread, store, acquired, released,
                       slot_count.load(std::memory_order_relaxed));
  give_clock(self);
}

[[nodiscard]] bool is_atomic(wire::Sync kind) {
  return kind == wire::Sync::kAtomicLoad || kind == wire::Sync::kAtomicStore ||
         kind == wire::Sync::kAtomicRmw;
}

void meet_in_cells(Follower& self, wire::Sync kind, std::uintptr_t object, wire::Word operand,
                   std::uint32_t site) {
  Access access = atomic_access(self, kind, (operand >> 8) & 0xff, site);
  Host host{self, site};
  const Word bytes = operand & 0xff;
  if (object + bytes <= wire::kAddressMask) follow_atomic(host, access, object, bytes);
}

}  // namespace

void order_by_atomic(wire::Sync kind, std::uintptr_t object, std::uint32_t what,
                     std::uint32_t site) {
  Follower* const self = tls.follower;
  if (self == nullptr || !self->locks || object > wire::kAddressMask) return;
  ++tls.busy;
  join_clock(*self, kind, object, what);
  // Here, so that the cells have atomics in their order, of which some are not told.
  if (self->quiet_on && is_atomic(kind)) {
    tell_frames(*self);
    meet_in_cells(*self, kind, object, what >> 8, site);
  }
  --tls.busy;
}

bool atomic_quietly(wire::Sync kind, std::uintptr_t object, std::uint32_t what,
                    std::uint32_t site) {
  using wire::Sync;
  // Orders nothing, and who follows its accesses has no use for the place either.
  if (kind == Sync::kOrdered) return true;
  if (!is_atomic(kind)) return false;
  Follower* const self = tls.follower;
  const Word bytes = (what >> 8) & 0xff;
  // Of one granule.
  if (!self->quiet_on || tls.busy != 0 || object + bytes > wire::kAddressMask ||
      (object & 7) + bytes > 8) {
    return false;
  }
  ++tls.busy;
  Access access = atomic_access(*self, kind, (what >> 16) & 0xff, site);
  access.granule = object & ~Word{7};
  access.bytes = ((1u << bytes) - 1u) << (object & 7);
  const bool done = keep_atomic(*self, access);
  --tls.busy;
  return done;
}

void order_by_signal(wire::Sync kind, std::uintptr_t object) {
  if (kind != wire::Sync::kWait && kind != wire::Sync::kHappensAfter) return;
  Follower* const self = tls.follower;
  if (self == nullptr || !self->locks || tls.busy != 0 || object > wire::kAddressMask) return;
  ++tls.busy;
  take_clock(*self, object, true)
      .signals.wait(self->thread.known, kind == wire::Sync::kHappensAfter,
                    slot_count.load(std::memory_order_relaxed));
  give_clock(*self);
  --tls.busy;
}

void order_by_position(wire::Sync kind, std::uintptr_t object) {
  if (kind != wire::Sync::kAcquire && kind != wire::Sync::kAcquireShared) return;
  Follower* const self = tls.follower;
  if (self == nullptr || !self->thread.only_atomicity || tls.busy != 0) return;
  ++tls.busy;
  tell_frames(*self);
  come_behind(*self, take_clock(*self, object, true));
  give_clock(*self);
  settle_draft(*self);
  --tls.busy;
}

void before_sync(wire::Sync kind, std::uintptr_t object, wire::Word operand, std::uint32_t site) {
  settle();
  Follower* const self = tls.follower;
  if (self == nullptr) return;
  ++tls.busy;
  // Those are no events.
  if (kind != wire::Sync::kAlloc && kind != wire::Sync::kFree && kind != wire::Sync::kDestroy) {
    tell_frames(*self);
  }
  if (self->thread.only_atomicity && meets(kind)) {
    self->clock = &lock_place(place_of(object));
    leave_mark(*self, *self->clock, self->thread.position + 1);
    give_clock(*self);
  }
  switch (kind) {
    case wire::Sync::kAlloc: (void)renew(*self, object, operand); break;
    case wire::Sync::kDestroy: forget_clock(object); break;
    case wire::Sync::kPost:
    case wire::Sync::kWait:
    case wire::Sync::kCondWait:
    case wire::Sync::kCondSignal:
    case wire::Sync::kCondBroadcast:
    case wire::Sync::kHappensBefore:
    case wire::Sync::kHappensAfter: stir(object); break;
    case wire::Sync::kAtomicLoad:
    case wire::Sync::kAtomicStore:
    case wire::Sync::kAtomicRmw:
      // order_by_atomic() has done it.
      if (!self->quiet_on) meet_in_cells(*self, kind, object, operand, site);
      break;
    default: break;
  }
  --tls.busy;
}

void tell_unheard(Follower& self) {
  const std::uint32_t count = self.unheard_count;
  self.unheard_count = 0;
  for (std::uint32_t i = 0; i < count; ++i) sync(self.unheard[i].kind, self.unheard[i].object);
}

bool lock_unheard(wire::Sync kind, std::uintptr_t object) {
  using wire::Sync;
  if (kind < Sync::kAcquire || kind > Sync::kReleaseShared || tls.busy != 0) return false;
  Follower* const self = tls.follower;
  if (!self->thread.only_atomicity) return false;
  const bool taken = kind == Sync::kAcquire || kind == Sync::kAcquireShared;
  // Before a release, so that whoever takes the lock and begins a block finds what was done here.
  settle();
  if (tls.follower == nullptr) return true;
  if (taken && self->unheard_count == Follower::kMostUnheard) {
    in_blocks.store(true, std::memory_order_relaxed);
  }
  if (in_blocks.load(std::memory_order_relaxed)) {
    if (self->unheard_count != 0) tell_unheard(*self);
    return false;
  }
  if (taken && self->heard < Follower::kMostHeard) {
    ++self->heard;
    keep_draft();
    return false;
  }
  if (taken) {
    self->unheard[self->unheard_count++] = {object, kind};
    return true;
  }
  for (std::uint32_t i = self->unheard_count; i-- > 0;) {
    if (self->unheard[i].object != object) continue;
    --self->unheard_count;
    for (; i < self->unheard_count; ++i) self->unheard[i] = self->unheard[i + 1];
    return true;
  }
  // Its taking was heard of.
  keep_draft();
  return false;
}

bool lock_by_position(wire::Sync kind, std::uintptr_t object, std::uint32_t call) {
  using wire::Sync;
  if (kind < Sync::kAcquire || kind > Sync::kReleaseShared || tls.draft == nullptr) return false;
  settle();
  if (tls.follower == nullptr) return true;
  Follower& self = *tls.follower;
  const std::uint32_t slots = slot_count.load(std::memory_order_relaxed);
  ++tls.busy;
  if (slots > sieve::kKnown && tls.draft != nullptr) leave_draft(self);
  if (tls.draft == nullptr) {
    --tls.busy;
    return false;
  }
  tell_frames(self);
  // Who sends waits for cells, and who holds one may wait for a clock (renew()).
  make_draft_room();
  const bool taken = kind == Sync::kAcquire || kind == Sync::kAcquireShared;
  if (taken) {
    const SyncClock& clock = take_clock(self, object, true);
    if (kind == Sync::kAcquire) self.thread.known.join(clock.rounds.clocks[0], slots);
    come_behind(self, clock);
    give_clock(self);
  }
  if (wire::Word* const at = room(2); at != nullptr) {
    at[0] = wire::sync(kind, 1, call);
    at[1] = wire::operand(object);
    appended(2);
  }
  new_segment();
  told(self);
  if (!taken) {
    SyncClock& clock = take_clock(self, object, true);
    if (kind == Sync::kRelease) {
      self.thread.publish(clock.rounds.clocks[0], slots);
      clock.last.told(self.thread);
    }
    leave_mark(self, clock, self.thread.position);
    clock.order.join(self.draft.behind, slots);
    clock.order.at[self.thread.slot] = self.thread.position;
    give_clock(self);
  }
  self.draft.locks += taken ? 1 : ~0u;
  if (self.thread.begin == 0) pass(self);
  settle_draft(self);
  --tls.busy;
  return true;
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
  if (self.thread.only_atomicity && meets(kind)) {
    self.clock = &lock_place(place_of(object));
    read_marks(self, *self.clock);
    give_clock(self);
  }
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
      forked.store(true, std::memory_order_relaxed);
      if (__syndrome_thread.filter == nullptr) start_filter();
      release(self, key_of_thread(object), false);
      break;
    case Sync::kAcquireShared: {
      SyncClock& clock = take_clock(self, object, true);
      read_marks(self, clock);
      give_clock(self);
      break;
    }
    case Sync::kReleaseShared: {
      SyncClock& clock = take_clock(self, object, true);
      leave_mark(self, clock, self.thread.position);
      give_clock(self);
      break;
    }
    case Sync::kAcquire:
      if (self.locks) acquire(self, object, true);
      break;
    case Sync::kRelease:
      if (self.locks) release(self, object, true);
      break;
    case Sync::kPost:
    case Sync::kHappensBefore: {
      if (!self.locks || object > wire::kAddressMask) break;
      sieve::Known known{};
      self.thread.publish(known, slots);
      take_clock(self, object, true).signals.post(known, kind == Sync::kHappensBefore, slots);
      give_clock(self);
      break;
    }
    case Sync::kWait:
    case Sync::kHappensAfter: look_around(); break;
    case Sync::kBarrierArrive: {
      sieve::Known known{};
      self.thread.publish(known, slots);
      SyncClock& clock = take_clock(self, object, true);
      self.round = clock.rounds.arrive(known, slots);
      self.round_life = clock.life;
      leave_mark(self, clock, self.thread.position);
      give_clock(self);
      break;
    }
    case Sync::kBarrierLeave: {
      SyncClock& clock = take_clock(self, object, true);
      if (clock.life == self.round_life) {
        clock.rounds.leave(self.thread.known, self.round, slots);
      }
      read_marks(self, clock);
      give_clock(self);
      look_around();
      break;
    }
    case Sync::kBlockBegin:
      send_first(object);
      if (static_cast<wire::Block>(operand) == wire::Block::kAtomic && self.scopes++ == 0 &&
          self.blocks == 0) {
        self.thread.begin_block(false, slots);
        set_begin(self);
      }
      break;
    case Sync::kBlockEnd:
      if (static_cast<wire::Block>(operand) != wire::Block::kAtomic || self.scopes == 0) break;
      if (--self.scopes == 0 && self.blocks == 0) {
        ++self.draft.blocks;
        self.thread.end_block();
        set_begin(self);
      }
      break;
    default: break;
  }
  if (self.thread.begin == 0) pass(self);
  --tls.busy;
}

}  // namespace syndrome::rt
