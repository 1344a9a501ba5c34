// What a thread that holds its calls back does to locks, to memory and to others, and where its
// calls are cut: at waits, and where it takes its lock anew (check/atomic_sets/units.h).

#include "runtime/hold.h"
#include "runtime/holder.h"

namespace syndrome::rt {
namespace {

// Memory.

/// Whether something there has been told, or may be.
[[nodiscard]] bool renew(Holder& self, Word address, Word bytes) {
  if (bytes == 0 || address > wire::kAddressMask || bytes > wire::kAddressMask - address) {
    return false;
  }
  bool told = false;
  const Word end = address + bytes;
  for (Word at = address & ~Word{7}; at < end;) {
    HoldChunk* const chunk = __atomic_load_n(&hold_chunks[at >> kHoldChunkBits], __ATOMIC_ACQUIRE);
    if (chunk == nullptr) {
      at = (at | ((Word{1} << kHoldChunkBits) - 1)) + 1;
      continue;
    }
    if (__atomic_load_n(&chunk->used[(at >> 12) % kHoldChunkPages], __ATOMIC_RELAXED) == 0) {
      at = (at | 4095) + 1;
      continue;
    }
    const std::size_t number = (at >> kHoldPageBits) % kHoldChunkSmall;
    calls::Page& page = chunk->pages[number];
    const Word page_end = (at | (kHoldPageBytes - 1)) + 1;
    const bool shared = __atomic_load_n(&chunk->shared[number], __ATOMIC_RELAXED) != 0;
    const bool whole = at % kHoldPageBytes == 0 && page_end <= end;
    told |= hold_calls.is_open_elsewhere(self.call, page);
    for (; at < end && at < page_end; at += 8) {
      const std::size_t index = (at >> 3) % kHoldChunkCells;
      std::uint8_t& is_told = chunk->told[index];
      if (__atomic_load_n(&is_told, __ATOMIC_RELAXED) != 0) {
        told = true;
        __atomic_store_n(&is_told, 0, __ATOMIC_RELAXED);
      }
      if (shared) told |= hold_calls.renew(self.call, chunk->cells[index]);
      if (calls::load(chunk->names[index]) != 0) calls::store(chunk->names[index], 0);
    }
    if (whole) {
      HoldCalls::forget(page.cell);
      __atomic_store_n(&chunk->shared[number], 0, __ATOMIC_RELAXED);
    }
  }
  // What a call that is open has done there is not known of what is there now.
  if (told) hold_calls.intrude(self.call);
  return told;
}

/// A record about memory is about to come.
void note_memory(Holder& self, bool told) {
  if (!told) return;
  if (self.memory_count == Holder::kMaxMemory) {
    self.stays = true;
    return;
  }
  self.memory[self.memory_count++] = self.fill;
}

/// The function of the call has taken a lock again, and comes to a place where it has been before
/// that: what it has done since it took the lock is another unit, and so another part.
[[gnu::noinline]] void begin_round_late(Holder& self, std::uint32_t anew) {
  self.rounds = 1;
  self.round[0] = anew;
  self.anew = 0;
  forget_places(self);
  if (self.flows || self.declared != 0 || self.call.first == 0 ||
      self.parts + 1 >= Holder::kParts) {
    return;
  }
  // Where that part would have begun is in the buffer, behind a kPad.
  hold_calls.split(self.call, self.anew_serial, self.anew_time);
  add_part(self, self.part_begin, self.anew_at, self.call.certain || self.stays);
  self.part_begin = self.anew_at + 1;
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < self.memory_count; ++i) {
    if (self.memory[i] >= self.part_begin) self.memory[kept++] = self.memory[i];
  }
  // Those of the first one stay, if it does not.
  if (kept != self.memory_count)
    self.part[(self.first_part + self.parts - 1) % Holder::kParts].certain = true;
  self.memory_count = kept;
}

}  // namespace

void come_to(Holder& self, std::uint32_t place) {
  if (self.rounds == 0 || place == 0) return;
  std::uint32_t at = 0;
  while (at < self.places && self.place[at] != place) ++at;
  const bool again = at < self.places;
  if (self.anew != 0 && again && at < self.before) {
    begin_round_late(self, self.anew);
  } else if (again || self.places == Holder::kMaxPlaces) {
    return;
  }
  self.place[self.places++] = place;
  if (place < 64) self.place_bits |= Word{1} << place;
}

namespace {

// Synchronization.

[[nodiscard]] bool is_wait(wire::Sync kind) {
  return kind == wire::Sync::kCondWait || kind == wire::Sync::kBarrierLeave ||
         kind == wire::Sync::kWait || kind == wire::Sync::kJoin;
}

void take_lock(Holder& self, Word object) {
  if (self.held < Holder::kMaxHeld) self.locks[self.held] = object;
  if (++self.held > Holder::kMaxHeld) self.stays = true;
}
void give_lock(Holder& self, Word object) {
  if (self.held > Holder::kMaxHeld) {
    --self.held;
    return;
  }
  std::uint32_t at = self.held;
  while (at > 0 && self.locks[at - 1] != object) --at;
  if (at == 0) {
    self.stays = true;
    return;
  }
  for (; at < self.held; ++at) self.locks[at - 1] = self.locks[at];
  --self.held;
  if (self.held == 0) self.anew = 0;
}

constexpr std::uint32_t kMaxRoundDepth = 1000;  // a kPad's length has 16 bits

/// The function of the call takes a lock where it has taken one before: what it does from here on
/// is another unit (check/atomic_sets/units.h).
void begin_round(Holder& self, std::uint32_t site) {
  if (self.call_frame == Holder::kNoCall || self.held != 0 || self.declared != 0) return;
  if (self.lost_depth != 0 || self.depth > kMaxRoundDepth) return;
  for (std::uint32_t i = self.call_frame + 1; i < self.depth; ++i) {
    if (self.frames[i].what.role != HoldRole::kLibrary) return;
  }
  std::uint32_t place = site;
  if (self.depth > self.call_frame + 1) {
    const HoldFrame& library = self.frames[self.call_frame + 1];
    place = wire::top_of(library.word);
    // It lets go of the lock and takes it again, and has not returned with it yet.
    if (library.number == self.round_frame) return;
    self.round_frame = library.number;
  }
  if (place == 0) return;
  const bool anew = self.rounds != 0;
  bool again = false;
  for (std::uint32_t i = 0; i < self.rounds; ++i) again |= self.round[i] == place;
  if (again) {
    end_part(self);
    self.rounds = 0;
    forget_places(self);
  }
  if (self.rounds < Holder::kMaxRounds) self.round[self.rounds++] = place;
  self.anew = 0;
  if (again || !anew || self.call.first == 0) return;
  // Whether it begins another one shows later.
  make_room(self);
  self.anew = place;
  self.before = self.places;
  self.anew_at = self.fill;
  self.anew_time = self.now;
  self.settled_serial = ++self.call.serial;
  self.anew_serial = self.call.mark = self.call.serial;
  find_serial(self);
  const Word mark = self.fill++;
  put_frames(self);
  self.words[mark] =
      wire::control(wire::Control::kPad, 0, static_cast<std::uint32_t>(self.fill - mark - 1));
}

/// What it is to the part. `bytes`: of an atomic.
void watch(Holder& self, wire::Sync kind, Word object) {
  using wire::Sync;
  switch (kind) {
    case Sync::kAcquire:
    case Sync::kAcquireShared: take_lock(self, object); break;
    case Sync::kRelease:
    case Sync::kReleaseShared: give_lock(self, object); break;
    case Sync::kAtomicLoad:
    case Sync::kAtomicStore:
    case Sync::kAtomicRmw:
    case Sync::kFence:
    case Sync::kCondWait:
    case Sync::kCondSignal:
    case Sync::kCondBroadcast:
    case Sync::kAlloc:
    case Sync::kFree: break;
    case Sync::kBlockBegin:
      ++self.blocks;
      ++self.declared;
      self.stays = true;
      break;
    case Sync::kBlockEnd:
      if (self.blocks != 0) {
        --self.blocks;
        --self.declared;
      }
      self.stays = true;
      break;
    default: self.stays = true; break;
  }
}

/// Whether the call does nothing any more when it has let go of a lock at this site: then it is
/// over before others can have the lock, and none of them comes behind one that is open.
[[nodiscard]] bool is_last(const Holder& self, std::uint32_t site) {
  if (self.held != 0 || self.declared != 0 || self.handlers != 0 || self.lost_depth != 0) {
    return false;
  }
  std::uint8_t flag = unit::kLastRelease;
  for (std::uint32_t i = self.depth; i > self.call_frame; --i) {
    const HoldFrame& frame = self.frames[i - 1];
    if (site - 1 >= frame.what.count || (frame.what.sites[site - 1].flags & flag) == 0) {
      return false;
    }
    site = wire::top_of(frame.word);
    flag = unit::kLastCall;
  }
  return self.call_frame < self.depth;
}

}  // namespace

void hold_locals(const void* address, std::size_t bytes) {
  Holder* self = nullptr;
  if (!enter_settled(self)) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const bool told = renew(*self, begin, bytes);
  if (self->call.first != 0 || told) {
    begin_part(*self);
    self->settled_serial = ++self->call.serial;
    find_serial(*self);
    note_memory(*self, told);
    put(*self, wire::control(wire::Control::kLocals, 0, 0));
    put(*self, wire::operand(begin));
    put(*self, wire::operand(bytes));
    end_outside(*self);
  }
  leave();
}

void hold_sync(wire::Sync kind, std::uintptr_t object, std::uint64_t version, unsigned extra,
               wire::Word operand, std::uint32_t site) {
  using wire::Sync;
  Holder* self = nullptr;
  if (!enter_settled(self)) return;
  const bool memory = kind == Sync::kAlloc || kind == Sync::kFree;
  const bool told = memory && renew(*self, object, operand != 0 ? operand : 8);
  if (memory && !told && self->call.first == 0) return leave();
  if (kind == Sync::kAcquire || kind == Sync::kAcquireShared) begin_round(*self, site);
  begin_part(*self);
  watch(*self, kind, object);
  note_memory(*self, told);
  put(*self, wire::sync(kind, 3 + extra, site));
  put(*self, wire::operand(object));
  put(*self, wire::operand(version));
  put(*self, wire::operand(self->now));
  if (extra != 0) put(*self, wire::operand(operand));
  self->settled_serial = ++self->call.serial;
  find_serial(*self);
  if (kind == Sync::kRelease || kind == Sync::kReleaseShared) self->released = true;
  if (is_wait(kind) && self->held == 0 && self->declared == 0) end_part(*self);
  if (self->released && is_last(*self, site)) end_part(*self);
  end_outside(*self);
  leave();
}

void hold_wait() {
  Holder* self = nullptr;
  if (!enter_settled(self)) return;
  if (self->held == 0 && self->declared == 0) end_part(*self);
  leave();
}

}  // namespace syndrome::rt
