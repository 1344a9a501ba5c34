#include "runtime/follow_quiet.h"

#include "runtime/filter.h"
#include "runtime/follow.h"
#include "runtime/follow_cells.h"
#include "runtime/shards.h"

namespace syndrome::rt {
namespace {

using sieve::QuietLocks;
using sieve::Section;

/// The site of a call, in the process: of the function that is not a library's, as
/// live/watch.cc shows it.
[[nodiscard]] std::uint32_t site_of_call(Follower& self, std::uint32_t call) {
  if (self.depth == 0 || self.lost_depth != 0) return 0;
  std::uint32_t depth = self.depth;
  while (depth > 0 && (self.frames[depth - 1].function->flags & unit::kSystem) != 0) --depth;
  if (depth == 0) depth = self.depth;
  const std::uint32_t number = depth == self.depth ? call : self.frames[depth].call;
  const Follower::Sites& sites = sites_of_function(self, self.frames[depth - 1].function);
  return number - 1 < sites.count ? sites.base + number - 1 : 0;
}

void tell_lock(std::uint32_t slot, const Section& section, bool release, Word version) {
  Word* const at = room(wire::kLateLockWords);
  if (at == nullptr) return;
  const Word position = release ? section.released : section.acquired;
  const Where where = where_of(release ? section.released_at : section.acquired_at);
  at[0] = wire::control(wire::Control::kLateLock, position << 4,
                        slot | (release ? wire::kLateRelease : 0));
  at[1] = wire::operand(section.object);
  at[2] = wire::operand(where.unit);
  at[3] = wire::operand(where.index);
  at[4] = wire::operand(told_up_to(slot, position));
  at[5] = wire::operand(version);
  appended(wire::kLateLockWords);
}

/// Others need not look for it any more.
void forget_section(std::uint32_t slot, const Section& section) {
  Follower* const other = follower_at(slot);
  if (other == nullptr) return;
  for (Section& place : other->sections) {
    Word released = section.released;
    if (place.object == section.object &&
        __atomic_load_n(&place.released, __ATOMIC_RELAXED) == released) {
      (void)__atomic_compare_exchange_n(&place.released, &released, 0, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED);
    }
  }
}

void tell_section(sieve::LastRelease& last, Word version) {
  last.quiet = false;
  forget_section(last.slot, last.section);
  tell_lock(last.slot, last.section, false, 0);
  tell_lock(last.slot, last.section, true, version);
}

/// The clock of the lock, locked; null: there is none.
[[nodiscard]] SyncClock* find_clock(Follower& self, Word object) {
  SyncClock& clock = lock_place(object);
  self.clock = &clock;
  if (clock.object == object) return &clock;
  unlock_clock(clock);
  self.clock = nullptr;
  return nullptr;
}

/// What was done to the lock last, before something that is told is.
void tell_before(Follower& self, Word object, bool shared) {
  SyncClock* const clock = find_clock(self, object);
  if (clock == nullptr) return;
  const bool own = !shared && clock->last.is_by(self.thread);
  if (clock->last.quiet && !own) tell_section(clock->last, 0);
  if (shared) clock->last.shared();
  unlock_clock(*clock);
  self.clock = nullptr;
}

[[nodiscard]] bool acquire_quietly(Follower& self, Word object, std::uint32_t call) {
  if (QuietLocks::Held* const held = self.quiet.find(object); held != nullptr) {
    ++held->times;
    return true;
  }
  SyncClock* const clock = find_clock(self, object);
  if (clock == nullptr) return false;
  const bool own = clock->last.is_by(self.thread);
  if (!own && clock->last.quiet) tell_section(clock->last, 0);
  unlock_clock(*clock);
  self.clock = nullptr;
  if (!own || !self.quiet.acquire(self.thread, object, site_of_call(self, call))) return false;
  self.mine.set(self.thread);
  return true;
}

/// For those who look for the locks that were held at an access.
void remember(Follower& self, const Section& section) {
  Section& place = self.sections[self.section_count++ % Follower::kSections];
  __atomic_store_n(&place.released, 0, __ATOMIC_RELAXED);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  place.object = section.object;
  place.acquired = section.acquired;
  place.acquired_at = section.acquired_at;
  place.released_at = section.released_at;
  __atomic_store_n(&place.released, section.released, __ATOMIC_RELEASE);
}

[[nodiscard]] bool release_quietly(Follower& self, Word object, std::uint32_t call) {
  QuietLocks::Held* const held = self.quiet.find(object);
  if (held == nullptr) {
    tell_before(self, object, false);
    return false;
  }
  if (held->times > 1) {
    --held->times;
    return true;
  }
  if (__atomic_load_n(&held->wanted, __ATOMIC_RELAXED) != 0) {
    tell_held(self);
    return false;
  }
  SyncClock& clock = lock_clock(object, true);
  self.clock = &clock;
  self.quiet.release(self.thread, *held, clock.last, site_of_call(self, call));
  self.thread.publish(clock.rounds.clocks[0], slots_in_use());
  remember(self, clock.last.section);
  unlock_clock(clock);
  self.clock = nullptr;
  self.mine.set(self.thread);
  new_segment();
  return true;
}

}  // namespace

Word told_up_to(std::uint32_t slot, Word position) {
  const Follower* const follower = follower_at(slot);
  if (follower == nullptr) return position;
  const Word told = __atomic_load_n(&follower->thread.told_at, __ATOMIC_ACQUIRE);
  return told < position ? told : position;
}

bool sync_quietly(wire::Sync kind, std::uintptr_t object, std::uint32_t call) {
  using wire::Sync;
  if (kind < Sync::kAcquire || kind > Sync::kReleaseShared || tls.busy != 0) return false;
  if (!tls.follower->quiet_on) return false;
  settle();
  Follower* const self = tls.follower;
  if (self == nullptr) return false;
  ++tls.busy;
  bool done = false;
  if (kind == Sync::kAcquire) {
    done = acquire_quietly(*self, object, call);
  } else if (kind == Sync::kRelease) {
    done = release_quietly(*self, object, call);
  } else {
    tell_before(*self, object, true);
  }
  --tls.busy;
  return done;
}

bool renew_quietly(wire::Sync kind, std::uintptr_t object, wire::Word bytes) {
  if ((kind != wire::Sync::kAlloc && kind != wire::Sync::kFree) || tls.busy != 0) return false;
  if (!tls.follower->quiet_memory || object > wire::kAddressMask || bytes == 0) return false;
  settle();
  Follower* const self = tls.follower;
  if (self == nullptr) return false;
  ++tls.busy;
  const bool told = renew(*self, object, bytes);
  --tls.busy;
  if (told) come_behind_all();
  return !told;
}

void tell_held(Follower& self) {
  while (self.quiet.count() != 0) {
    QuietLocks::Held& held = self.quiet[0];
    for (; held.times > 0; --held.times) tell_lock(self.thread.slot, held.section, false, 0);
    self.quiet.remove(held);
  }
}

void tell_evicted(SyncClock& clock) {
  if (!clock.last.quiet) return;
  // Who takes the lock next does not see the clock: it takes a later version.
  tell_section(clock.last,
               next_version(wire::shard_of(wire::Sync::kAcquire, clock.last.section.object)));
}

void want_locks(std::uint32_t slot, Word position) {
  Follower* const other = follower_at(slot);
  if (other == nullptr || !other->quiet_on) return;
  // What is read here may be changing: at worst, a report says less of a lock.
  for (std::uint32_t i = 0; i < QuietLocks::kMost; ++i) {
    QuietLocks::Held& held = other->quiet[i];
    if (i < other->quiet.count() && held.section.acquired < position) {
      __atomic_store_n(&held.wanted, 1, __ATOMIC_RELAXED);
    }
  }
  for (Section& place : other->sections) {
    Word released = __atomic_load_n(&place.released, __ATOMIC_ACQUIRE);
    if (released < position || place.acquired >= position) continue;
    Section section = place;
    section.released = released;
    if (!__atomic_compare_exchange_n(&place.released, &released, 0, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    // If it is the lock's last one, who takes it next has nothing to tell, and a later version.
    Word version = 0;
    if (SyncClock* const clock = find_clock(*tls.follower, section.object); clock != nullptr) {
      if (clock->last.quiet && clock->last.slot == slot &&
          clock->last.section.released == released) {
        clock->last.quiet = false;
        version = next_version(wire::shard_of(wire::Sync::kAcquire, section.object));
      }
      unlock_clock(*clock);
      tls.follower->clock = nullptr;
    }
    tell_lock(slot, section, false, 0);
    tell_lock(slot, section, true, version);
  }
}

}  // namespace syndrome::rt
