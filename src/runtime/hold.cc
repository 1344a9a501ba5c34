#include "runtime/hold.h"

#include <sys/mman.h>
#include <time.h>

#include "runtime/follow.h"
#include "runtime/holder.h"
#include "runtime/sys.h"

namespace syndrome::rt {

calls::Slot* hold_slots = nullptr;
Word hold_slots_used = 0;
std::uint32_t hold_nothing = 0;
constinit HoldCalls hold_calls(nullptr, nullptr);

namespace {

bool holds = false;
Holder* holders[calls::kMaxSlots];  // by slot
std::uint8_t has_thread[calls::kMaxSlots];

void put(Holder& self, Word word) {
  self.words[self.fill++] = word;
  self.released = false;
}

// Parts: what the buffer has of a call, or of what is outside of calls.

/// What a part begins with.
void put_frames(Holder& self) {
  self.words[self.fill++] = self.depth;
  for (std::uint32_t i = 0; i < self.depth; ++i) {
    self.words[self.fill++] = self.frames[i].word;
    self.words[self.fill++] = self.frames[i].mark;
  }
  put(self, wire::time(self.now));
}

void begin_part(Holder& self) {
  if (self.call.first != 0) return;
  hold_calls.begin(self.call, self.now);
  self.settled_serial = self.call.first;
  if (self.depth != 0) self.frames[self.depth - 1].serial = self.call.first;
  self.part_begin = self.fill;
  self.stays = __atomic_load_n(&hold_nothing, __ATOMIC_RELAXED) != 0;
  self.flows = false;
  self.memory_count = 0;
  self.anew = 0;
  for (std::uint32_t i = 0; i < self.depth; ++i) self.frames[i].leaf = false;
  put_frames(self);
}

/// Decides about those that were first, in their order.
void decide(Holder& self, bool all) {
  while (self.parts != 0 && holding()) {
    HoldPart& part = self.part[self.first_part];
    calls::Verdict verdict = hold_calls.verdict(part.certain, part.sources, part.count);
    if (verdict == calls::Verdict::kWait) {
      if (!all) return;
      verdict = calls::Verdict::kKeep;
    }
    if (verdict == calls::Verdict::kKeep) {
      tell_part(self, part.begin, part.end);
      tell_end(self);
    }
    self.first_part = (self.first_part + 1) % Holder::kParts;
    --self.parts;
  }
}

void add_part(Holder& self, Word begin, Word end, bool certain) {
  HoldPart& part = self.part[(self.first_part + self.parts++) % Holder::kParts];
  part.begin = begin;
  part.end = end;
  part.certain = certain;
  part.count = self.call.count;
  for (unsigned i = 0; i < self.call.count; ++i) part.sources[i] = self.call.sources[i];
}

/// Of a part that is left out: memory that is told of is another variable from here on.
void keep_memory(Holder& self) {
  const std::uint32_t count = self.memory_count;
  self.memory_count = 0;
  Word at = self.part_begin;
  if (count != 0) {
    // Its records lie behind what is written over.
    self.words[at++] = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Word* const record = &self.words[self.memory[i]];
      Word copy[8];
      const std::size_t length = record_words(*record);
      for (std::size_t k = 0; k < length; ++k) copy[k] = record[k];
      // The first word of a part is a time.
      if (i == 0) self.words[at++] = wire::time(self.now);
      for (std::size_t k = 0; k < length; ++k) self.words[at++] = copy[k];
      // The call's site is one of a function that is not told.
      Word& head = self.words[at - length];
      head &= (Word{1} << wire::kTopShift) - 1;
    }
  }
  self.fill = at;
}

void end_part(Holder& self) {
  if (self.call.first == 0) return;
  self.now = HoldClock::now();
  hold_calls.end(self.call, self.now);
  self.held = 0;
  const bool certain = self.call.certain || self.stays;
  if (self.flows) {
    tell_more(self, self.part_begin, self.fill);
    tell_end(self);
    self.flows = false;
    self.fill = self.part_begin;
    return;
  }
  if (hold_calls.verdict(certain, self.call.sources, self.call.count) == calls::Verdict::kDrop) {
    keep_memory(self);
    if (self.fill != self.part_begin) {
      self.call.count = 0;
      add_part(self, self.part_begin, self.fill, true);
    }
  } else {
    add_part(self, self.part_begin, self.fill, certain);
  }
  if (self.parts != 0) {
    decide(self, self.parts == Holder::kParts);
    if (self.parts == 0) self.fill = 0;
  }
}

/// The buffer is full: what waits is told, and so is what there is of the open part.
[[gnu::noinline]] void flow(Holder& self) {
  decide(self, true);
  if (self.call.first == 0) {
    self.fill = 0;
    return;
  }
  if (self.flows) {
    tell_more(self, self.part_begin, self.fill);
  } else {
    self.call.certain = self.flows = true;
    tell_part(self, self.part_begin, self.fill);
  }
  self.memory_count = 0;
  self.part_begin = self.fill = 0;
  self.anew = 0;
}
void make_room(Holder& self) {
  if (self.fill > Holder::kWords - Holder::kSpare) flow(self);
}

/// What is outside of calls ends where no lock is held.
void end_outside(Holder& self) {
  if (self.call_frame == Holder::kNoCall && self.held == 0 && self.blocks == 0) end_part(self);
}

// Functions.

[[nodiscard]] const HoldFunction& function_at(Holder& self, const unit::Function* function) {
  HoldFunction& known =
      self.functions[(reinterpret_cast<std::uintptr_t>(function) >> 5) % Holder::kFunctions];
  if (__builtin_expect(static_cast<long>(known.function != function), 0) != 0) {
    known = find_hold_function(function);
  }
  return known;
}

void begin_call(Holder& self, std::uint32_t frame) {
  self.call_frame = frame;
  self.rounds = self.places = self.anew = 0;
  self.round_frame = 0;
}

/// The function of the call has taken a lock again, and comes to a place where it has been before
/// that: what it has done since it took the lock is another unit, and so another part.
[[gnu::noinline]] void begin_round_late(Holder& self, std::uint32_t anew) {
  self.rounds = 1;
  self.round[0] = anew;
  self.places = self.anew = 0;
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

/// The function of the call accesses something there, or calls a function.
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
}

/// The serial of the function that runs.
void find_serial(Holder& self) {
  if (self.depth == 0) {
    if (self.call.first != 0) self.call.next_serial();
    return;
  }
  HoldFrame& frame = self.frames[self.depth - 1];
  if (frame.serial < self.settled_serial) frame.serial = ++self.call.serial;
  self.call.set_serial(frame.serial);
}

void push(Holder& self, Word word, bool leaf) {
  if (self.depth == Holder::kMaxDepth || self.lost_depth != 0) {
    ++self.lost_depth;
    return;
  }
  const auto* const function = reinterpret_cast<const unit::Function*>(wire::payload_of(word));
  if (self.depth == self.call_frame + 1) come_to(self, wire::top_of(word));
  HoldFrame& frame = self.frames[self.depth];
  frame.what = function_at(self, function);
  const bool own = frame.what.role != HoldRole::kLibrary;
  if (own && self.own == 0 && !self.first_thread && frame.what.role != HoldRole::kDeclared) {
    frame.what.role = HoldRole::kNever;
  }
  frame.word = wire::control(wire::Control::kEnter, wire::payload_of(word), wire::top_of(word));
  frame.mark = 0;
  frame.number = ++self.entered;
  frame.serial = ++self.call.serial;
  frame.leaf = false;
  if (frame.what.role >= HoldRole::kMember) {
    if (self.call_frame == Holder::kNoCall) {
      end_outside(self);
      begin_call(self, self.depth);
      begin_part(self);
      frame.serial = ++self.call.serial;
    }
    if (frame.what.role == HoldRole::kDeclared) ++self.declared;
  }
  if (self.call.first != 0) {
    make_room(self);
    const bool released = self.released;
    frame.leaf = leaf;
    put(self, leaf ? word : frame.word);
    self.released = released;
  }
  ++self.depth;
  self.own += own ? 1 : 0;
  self.call.set_serial(frame.serial);
}

void pop(Holder& self) {
  const HoldFrame& frame = self.frames[--self.depth];
  self.own -= frame.what.role != HoldRole::kLibrary ? 1 : 0;
  if (frame.what.role == HoldRole::kDeclared) --self.declared;
  if (self.call.first != 0) {
    if (frame.leaf) {
      // It ends without a word.
    } else if (self.fill > self.part_begin + 3 && self.words[self.fill - 1] == frame.word &&
               (frame.word & wire::kOperandBit) == 0 && !self.released && !frame.what.stays) {
      // Nothing was in it.
      --self.fill;
    } else {
      put(self, wire::control(wire::Control::kExit, wire::payload_of(frame.word), 0));
    }
  }
  if (self.call_frame == self.depth) {
    self.call_frame = Holder::kNoCall;
    end_outside(self);
  }
  find_serial(self);
}

void exit_function(Holder& self, const unit::Function* function) {
  if (self.lost_depth != 0) {
    --self.lost_depth;
    return;
  }
  std::uint32_t at = self.depth;
  while (at > 0 && self.frames[at - 1].what.function != function) --at;
  if (at == 0) return;
  while (self.depth >= at) pop(self);
}

// Accesses.

/// The function that runs, or the one that the library works for, accesses something.
void accessed(Holder& self) {
  if (self.call_frame == Holder::kNoCall) {
    std::uint32_t at = self.depth;
    while (at > 0 && self.frames[at - 1].what.role == HoldRole::kLibrary) --at;
    if (at != 0 && self.frames[at - 1].what.role == HoldRole::kAccessor) {
      end_outside(self);
      begin_call(self, at - 1);
    }
  }
  begin_part(self);
}

/// Of an access: its site's number in the process, 0: none.
struct Named {
  std::uint32_t site = 0;
  bool container = false;
};

[[nodiscard]] bool access_cell(Holder& self, HoldChunk& chunk, Word address, Word kinds,
                               Word bytes) {
  calls::Cell& cell = chunk.cells[(address >> 3) % kHoldChunkCells];
  if (calls::load(cell.a) == 0) {
    std::uint8_t& used = chunk.used[(address >> 12) % kHoldChunkPages];
    if (__atomic_load_n(&used, __ATOMIC_RELAXED) == 0) __atomic_store_n(&used, 1, __ATOMIC_RELAXED);
  }
  return hold_calls.access(self.call, cell, kinds, bytes);
}

/// Whether all of it has been accessed before (calls::Calls::again).
[[nodiscard]] bool access_bytes(Holder& self, Word address, Word bytes, Word kinds, Named named) {
  bool again = true;
  const Word end = address + bytes;
  for (Word at = address & ~Word{7}; at < end; at += 8) {
    HoldChunk* const chunk = hold_chunk_at(at & wire::kAddressMask);
    if (chunk == nullptr) {
      self.call.certain = true;
      return false;
    }
    Word mask = at < address ? Word{0xff} << (address - at) : 0xff;
    if (end - at < 8) mask &= 0xff >> (8 - (end - at));
    if (!access_cell(self, *chunk, at & wire::kAddressMask, kinds, mask & 0xff)) {
      again = false;
      note_name(self, *chunk, at & wire::kAddressMask, address, bytes, named.site, named.container);
    }
  }
  return again;
}

void access_near(Holder& self, Word address, Word kinds) {
  for (unsigned i = 0; i < 2; ++i) {
    const Word at = (address + i * (Word{1} << (kNearBits - 1))) & wire::kAddressMask;
    HoldChunk* const chunk = hold_chunk_at(at);
    if (chunk == nullptr) {
      self.call.certain = true;
      return;
    }
    calls::Cell& cell = chunk->near[i][(at >> kNearBits) % kHoldChunkNear];
    (void)hold_calls.access(self.call, cell, kinds, 1);
  }
}

[[nodiscard]] Word kinds_of(unit::SiteKind kind) {
  switch (kind) {
    case unit::SiteKind::kRead:
    case unit::SiteKind::kRangeRead: return calls::kRead;
    case unit::SiteKind::kWrite:
    case unit::SiteKind::kRangeWrite: return calls::kWrite;
    case unit::SiteKind::kReadWrite: return calls::kRead | calls::kWrite;
    default: return 0;
  }
}

[[nodiscard]] bool is_leaf(Word word) {
  return wire::is_control(word) && (word & wire::kOperandBit) == 0 &&
         wire::kind_of(word) == wire::Control::kLeaf;
}

void take_access(Holder& self, Word word) {
  const std::uint32_t number = wire::top_of(word) | self.wide;
  const std::uint32_t wide = self.wide;
  self.wide = 0;
  if (self.depth != 0 && self.lost_depth == 0) {
    const HoldFunction& what = self.frames[self.depth - 1].what;
    const unit::Site* const site = number - 1 < what.count ? &what.sites[number - 1] : nullptr;
    const Word kinds = site != nullptr ? kinds_of(site->kind) : 0;
    if (kinds != 0 && site->bytes != 0) {
      if (self.call.first == 0 || self.call_frame == Holder::kNoCall) accessed(self);
      if (self.depth == self.call_frame + 1) come_to(self, number);
      const Word address = wire::address_of(word);
      const bool container = (site->flags & kHoldContainer) != 0;
      bool again = access_bytes(self, address, site->bytes, kinds,
                                {what.base != 0 ? what.base + number - 1 : 0, container});
      if (container) access_near(self, address, kinds);
      again &= !self.frames[self.depth - 1].leaf;
      if (!again) {
        make_room(self);
        if (wide != 0) put(self, wire::control(wire::Control::kWide, 0, wide >> 16));
        put(self, word);
      }
    }
  }
  if (self.leaf != 0) {
    self.leaf = 0;
    // Without an access that counts.
    if (self.depth != 0 && self.lost_depth == 0 && self.frames[self.depth - 1].leaf &&
        self.fill > self.part_begin && is_leaf(self.words[self.fill - 1])) {
      --self.fill;
    }
    if (self.lost_depth != 0) {
      --self.lost_depth;
    } else if (self.depth != 0) {
      pop(self);
    }
  }
}

[[nodiscard]] calls::Cell& near_cell(HoldChunk& chunk, Word address, unsigned which) {
  const Word at = address + which * (Word{1} << (kNearBits - 1));
  return chunk.near[which][(at >> kNearBits) % kHoldChunkNear];
}

/// What most words are: accesses of the function that runs, in a call, to what the call has
/// accessed before. The first word that is another one.
[[nodiscard]] const Word* take_own(Holder& self, const Word* word, const Word* end) {
  if (wire::is_control(*word) || self.depth == 0 || self.call.first == 0) return word;
  if ((self.lost_depth | self.wide | self.leaf) != 0) return word;
  if (self.call_frame == Holder::kNoCall) return word;
  if (self.depth == self.call_frame + 1 && self.rounds != 0) return word;
  if (self.fill > Holder::kWords - Holder::kSpare) return word;
  const HoldFunction& what = self.frames[self.depth - 1].what;
  constexpr Word kNoChunk = ~Word{0};
  // The kinds of each unit::SiteKind, two bits for each.
  constexpr Word kKinds = calls::kRead | (calls::kWrite << 2) |
                          ((calls::kRead | calls::kWrite) << 4) | (calls::kRead << 10) |
                          (calls::kWrite << 12);
  Word fill = self.fill;
  Word index = kNoChunk;
  HoldChunk* chunk = nullptr;
  for (; word < end && !wire::is_control(*word); ++word) {
    const std::uint32_t number = wire::top_of(*word) - 1;
    if (number >= what.count) break;
    const unit::Site& site = what.sites[number];
    const Word kinds = (kKinds >> (2 * static_cast<unsigned>(site.kind))) & calls::kKinds;
    const Word address = wire::address_of(*word);
    const Word from = address & 7;
    if (kinds == 0 || site.bytes - 1 >= 8 || from + site.bytes > 8) break;
    if (address >> kHoldChunkBits != index) {
      index = address >> kHoldChunkBits;
      chunk = __atomic_load_n(&hold_chunks[index], __ATOMIC_ACQUIRE);
      if (chunk == nullptr) break;
    }
    calls::Cell& cell = chunk->cells[(address >> 3) % kHoldChunkCells];
    if (!HoldCalls::is_own(self.call, cell, kinds)) break;
    if ((site.flags & kHoldContainer) != 0) {
      constexpr Word kHalf = Word{1} << (kNearBits - 1);
      if ((address + kHalf) >> kHoldChunkBits != index ||
          !HoldCalls::is_own(self.call, near_cell(*chunk, address, 0), kinds) ||
          !HoldCalls::is_own(self.call, near_cell(*chunk, address, 1), kinds)) {
        break;
      }
      for (unsigned i = 0; i < 2; ++i) {
        HoldCalls::come_behind_ended(self.call, near_cell(*chunk, address, i), kinds);
      }
    }
    const Word names = calls::load(cell.names);
    if ((names & 0xffffffff) == 0 || (names >> 32) == 0) {
      note_name(self, *chunk, address & ~Word{7}, address, site.bytes,
                what.base != 0 ? what.base + number : 0, (site.flags & kHoldContainer) != 0);
    }
    const Word bytes = ((Word{1} << site.bytes) - 1) << from;
    if (HoldCalls::access_own(self.call, cell, kinds, bytes)) continue;
    self.words[fill++] = *word;
  }
  if (fill != self.fill) self.released = false;
  self.fill = fill;
  return word;
}

void take(Holder& self, Word word) {
  if (!wire::is_control(word)) return take_access(self, word);
  switch (wire::kind_of(word)) {
    case wire::Control::kLeaf:
      self.leaf = 1;
      push(self, word, true);
      break;
    case wire::Control::kEnter: push(self, word, false); break;
    case wire::Control::kExit:
      exit_function(self, reinterpret_cast<const unit::Function*>(wire::payload_of(word)));
      break;
    case wire::Control::kWide: self.wide = wire::top_of(word) << 16; break;
    default: break;
  }
}

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
    const Word page_end = (at | 4095) + 1;
    if (__atomic_load_n(&chunk->used[(at >> 12) % kHoldChunkPages], __ATOMIC_RELAXED) == 0) {
      at = page_end;
      continue;
    }
    for (; at < end && at < page_end; at += 8) {
      const std::size_t index = (at >> 3) % kHoldChunkCells;
      std::uint8_t& is_told = chunk->told[index];
      if (__atomic_load_n(&is_told, __ATOMIC_RELAXED) != 0) {
        told = true;
        __atomic_store_n(&is_told, 0, __ATOMIC_RELAXED);
      }
      told |= hold_calls.renew(self.call, chunk->cells[index]);
      calls::Cell& cell = chunk->cells[index];
      if (calls::load(cell.names) != 0) calls::store(cell.names, 0);
    }
  }
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
    self.rounds = self.places = 0;
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

Holder* begin(std::uint32_t slot) {
  if (slot >= calls::kMaxSlots) return nullptr;
  if (holders[slot] == nullptr) {
    holders[slot] =
        static_cast<Holder*>(sys::map(sizeof(Holder), PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  Holder* const self = holders[slot];
  if (self == nullptr) return nullptr;
  Word used = __atomic_load_n(&hold_slots_used, __ATOMIC_RELAXED);
  while (used <= slot && !__atomic_compare_exchange_n(&hold_slots_used, &used, Word{slot} + 1,
                                                      false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
  }
  self->call.slot = slot;
  return self;
}

}  // namespace

bool holds_calls() {
  return holds;
}

void make_holders() {
  holds = false;
  if (process.session->checked != sieve::Checked::kAtomicSets || process.pinned) return;
  if (hold_slots == nullptr) {
    hold_slots = static_cast<calls::Slot*>(
        sys::map(calls::kMaxSlots * sizeof(calls::Slot), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (hold_slots == nullptr) return;
    hold_calls = HoldCalls(hold_slots, &hold_slots_used);
  }
  for (Word i = 0; i < hold_slots_used; ++i) {
    hold_slots[i].first = hold_slots[i].out = hold_slots[i].count = 0;
  }
  for (std::uint32_t i = 0; i < calls::kMaxSlots; ++i) {
    has_thread[i] = 0;
    // In a forked child, its parent's: a signal handler that forked may return into a probe.
    holders[i] = nullptr;
  }
  hold_slots_used = 0;
  hold_nothing = 0;
  last_settler.store(0, std::memory_order_relaxed);
  holds = make_hold_cells();
}

bool start_holding(std::uint32_t slot) {
  Holder* const self = begin(slot);
  if (self == nullptr) {
    __atomic_store_n(&hold_nothing, 1, __ATOMIC_RELAXED);
    return false;
  }
  self->units = 0;
  self->handlers = self->depth = self->lost_depth = self->own = self->wide = self->leaf = 0;
  self->first_thread = tls.number == 0;
  self->fill = self->part_begin = 0;
  self->call.first = 0;
  self->call.count = 0;
  self->call_frame = Holder::kNoCall;
  self->declared = self->blocks = self->held = self->rounds = self->memory_count = 0;
  self->stays = self->flows = self->released = false;
  self->first_part = self->parts = 0;
  self->told_time = 0;
  self->told_depth = 0;
  self->its_thread = &tls;
  self->its_window = &__syndrome_thread;
  self->done = self->lines[0];
  tls.exact = tls.words + 1;
  tls.holder = self;
  __syndrome_thread.cursor = self->lines[0];
  __syndrome_thread.filter = nullptr;
  __atomic_store_n(&has_thread[slot], 1, __ATOMIC_RELEASE);
  return true;
}

void stop_holding() {
  Holder* const self = tls.holder;
  if (self == nullptr) return;
  tls.holder = nullptr;
  calls::store(hold_slots[self->call.slot].first, 0);
  __atomic_store_n(&has_thread[self->call.slot], 0, __ATOMIC_RELEASE);
}

Holder* holder_of(std::uint32_t slot) {
  return __atomic_load_n(&has_thread[slot], __ATOMIC_ACQUIRE) != 0 ? holders[slot] : nullptr;
}

namespace {

/// Around what goes through words: false when nobody may any more.
[[nodiscard]] bool enter(Holder*& self) {
  self = tls.holder;
  if (self == nullptr || tls.busy != 0) return false;
  ++tls.busy;
  if (is_over()) {
    --tls.busy;
    return false;
  }
  return true;
}

/// Requires enter(). Whether there were any; then Holder::now is now.
bool settle_words(Holder& self) {
  Word* const end = __syndrome_thread.cursor;
  if (self.done == end) return false;
  self.now = HoldClock::now();
  if (const std::uint32_t units = __atomic_load_n(&hold_units, __ATOMIC_ACQUIRE);
      self.units != units) {
    self.units = units;
    for (HoldFunction& known : self.functions) known.function = nullptr;
  }
  // Others may have come in between.
  if (self.call.first != 0) {
    make_room(self);
    put(self, wire::time(self.now));
  }
  for (const Word* word = self.done; word < end && holding();) {
    word = take_own(self, word, end);
    if (word < end) take(self, *word++);
  }
  self.done = end;
  if (holding()) end_outside(self);
  return true;
}

/// The same, at the beginning of something that is no word.
[[nodiscard]] bool enter_settled(Holder*& self) {
  if (!enter(self)) return false;
  const bool any = settle_words(*self);
  if (!holding()) {
    --tls.busy;
    return false;
  }
  if (!any) self->now = HoldClock::now();
  make_room(*self);
  return true;
}
void leave() {
  --tls.busy;
}

}  // namespace

void hold_settle() {
  Holder* self = nullptr;
  if (!enter(self)) return;
  (void)settle_words(*self);
  leave();
}

void hold_line() {
  hold_settle();
  Holder* const self = tls.holder;
  if (self == nullptr) return;
  self->done = __syndrome_thread.cursor = self->lines[self->handlers];
}

void hold_word(wire::Word word) {
  Holder* self = nullptr;
  if (!enter_settled(self)) return;
  take(*self, word);
  leave();
}

void hold_range(const void* address, std::size_t length, bool write, std::uint32_t site,
                bool site_is_call) {
  Holder* self = nullptr;
  if (!enter_settled(self)) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (length <= wire::kAddressMask && begin <= wire::kAddressMask - length) {
    accessed(*self);
    const std::uint32_t base =
        self->depth != 0 && self->lost_depth == 0 ? self->frames[self->depth - 1].what.base : 0;
    (void)access_bytes(*self, begin, length, write ? calls::kWrite : calls::kRead,
                       {base != 0 && site != 0 ? base + site - 1 : 0, false});
    put(*self, wire::time(self->now));
    const Word flags = (write ? 16u : 0u) | (site_is_call ? 32u : 0u);
    put(*self, wire::control(wire::Control::kRange, flags, site));
    put(*self, wire::operand(begin));
    put(*self, wire::operand(length));
    end_outside(*self);
  }
  leave();
}

namespace {

/// Whether the thread has gone through the same loop, and nobody was anywhere in between; if not,
/// it does so now. Shorter ones are gone through faster than that is found out.
constexpr Word kLongRun = 8;
[[nodiscard]] bool knows_run(Holder& self, Word address, Word count, Word site) {
  constexpr unsigned kShift = 64 - Holder::kRunBits;
  HoldRun& known = self.runs[((address ^ (site << 48)) * 0x9E3779B97F4A7C15u) >> kShift];
  const HoldRun now{address, count, self.call.now, site, hold_calls.intrusion()};
  if (known == now) return true;
  known = now;
  return false;
}

}  // namespace

void hold_run(const SyndromeRun& run, const void* const* first, std::uint64_t rounds,
              std::uint32_t rest) {
  Holder* self = nullptr;
  if (!enter_settled(self)) return;
  if (self->depth == 0 || self->lost_depth != 0) return leave();
  accessed(*self);
  const HoldFunction& what = self->frames[self->depth - 1].what;
  bool again = true;
  for (std::uint32_t i = 0; i < run.sites; ++i) {
    const std::uint32_t number = wire::top_of(run.tops[i]);
    if (number - 1 >= what.count) continue;
    const unit::Site& site = what.sites[number - 1];
    const Word kinds = kinds_of(site.kind);
    const std::uint64_t count = rounds + (i < rest ? 1 : 0);
    if (kinds == 0 || site.bytes == 0 || count == 0) continue;
    const Named named{what.base != 0 ? what.base + number - 1 : 0,
                      (site.flags & kHoldContainer) != 0};
    if (named.site != 0 && count >= kLongRun &&
        knows_run(*self, reinterpret_cast<std::uintptr_t>(first[i]), count, named.site)) {
      continue;
    }
    if (named.container) access_near(*self, reinterpret_cast<std::uintptr_t>(first[i]), kinds);
    const std::int64_t stride = wire::stride_of(run.strides[i / wire::kStridesInWord], i);
    Word address = reinterpret_cast<std::uintptr_t>(first[i]);
    const auto step = static_cast<Word>(stride < 0 ? -stride : stride);
    if (step <= site.bytes) {
      // One after another: as one piece, so that a granule is looked at once.
      if (stride < 0) address -= (count - 1) * step;
      again &= access_bytes(*self, address & wire::kAddressMask, (count - 1) * step + site.bytes,
                            kinds, named);
      continue;
    }
    for (std::uint64_t k = 0; k < count; ++k, address += static_cast<Word>(stride)) {
      const Word at = address & wire::kAddressMask;
      HoldChunk* const chunk = hold_chunk_at(at);
      if (chunk != nullptr && site.bytes == 8 && (at & 7) == 0) {
        calls::Cell& cell = chunk->cells[(at >> 3) % kHoldChunkCells];
        if (calls::load(cell.names) != 0 && HoldCalls::is_own(self->call, cell, kinds)) {
          again &= HoldCalls::access_own(self->call, cell, kinds, 0xff);
          continue;
        }
      }
      again &= access_bytes(*self, at, site.bytes, kinds, named);
    }
  }
  // As __syndrome_run() does.
  const unsigned sites = run.sites;
  for (std::uint64_t done = 0; !again && (rounds != 0 || rest != 0);) {
    make_room(*self);
    const std::uint64_t now = rounds < wire::kMaxRounds ? rounds : wire::kMaxRounds;
    rounds -= now;
    put(*self, wire::run(now, sites, rounds == 0 ? rest : 0));
    for (unsigned i = 0; i < sites; i += wire::kStridesInWord) {
      put(*self, run.strides[i / wire::kStridesInWord]);
    }
    for (unsigned i = 0; i < sites; ++i) {
      const std::int64_t stride = wire::stride_of(run.strides[i / wire::kStridesInWord], i);
      const Word address =
          reinterpret_cast<std::uintptr_t>(first[i]) + done * static_cast<Word>(stride);
      put(*self, run.tops[i] | (address & wire::kAddressMask));
    }
    done += now;
    if (rounds == 0) break;
  }
  end_outside(*self);
  leave();
}

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

void hold_frame(std::uint64_t mark) {
  Holder* self = nullptr;
  if (!enter_settled(self)) return;
  if (self->depth != 0 && self->lost_depth == 0) {
    self->frames[self->depth - 1].mark = mark;
    if (self->call.first != 0) put(*self, wire::control(wire::Control::kFrame, mark << 4, 0));
  }
  leave();
}

void hold_resume(std::uint64_t mark) {
  Holder* self = nullptr;
  if (!enter_settled(self)) return;
  self->leaf = self->wide = self->lost_depth = 0;
  std::uint32_t at = self->depth;
  while (at > 0 && self->frames[at - 1].mark != mark) --at;
  while (at > 0 && self->depth > at) pop(*self);
  if (self->call.first != 0 && at > 0) {
    put(*self, wire::control(wire::Control::kResume, mark << 4, 0));
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
  end_outside(*self);
  leave();
}

void hold_wait() {
  Holder* self = nullptr;
  if (!enter_settled(self)) return;
  if (self->held == 0 && self->declared == 0) end_part(*self);
  leave();
}

bool hold_enter_handler() {
  Holder& self = *tls.holder;
  if (self.handlers == Holder::kMaxHandlers) return false;
  hold_settle();
  if (tls.holder == nullptr) return false;
  ++self.handlers;
  self.done = __syndrome_thread.cursor = self.lines[self.handlers];
  return true;
}

void hold_leave_handler(wire::Word* cursor) {
  hold_settle();
  Holder* const self = tls.holder;
  if (self == nullptr) return;
  if (self->handlers != 0) --self->handlers;
  // What was there has been settled.
  self->done = __syndrome_thread.cursor = cursor;
}

void hold_drop_handlers() {
  Holder& self = *tls.holder;
  self.handlers = 0;
  self.done = __syndrome_thread.cursor = self.lines[0];
}

namespace {

/// Requires enter().
void finish(Holder& self) {
  (void)settle_words(self);
  if (!holding()) return;
  self.stays |= self.declared != 0 || self.held != 0;
  end_part(self);
  decide(self, true);
  self.fill = 0;
}

/// In place of another thread, which does not write while this one is the last settler.
void finish_for(Holder& other) {
  Thread& its = *other.its_thread;
  // It may be at it just now; or be stopped in the middle of it, for good.
  constexpr int kTries = 100;
  for (int i = 0; __atomic_load_n(&its.busy, __ATOMIC_ACQUIRE) != 0; ++i) {
    if (i == kTries) return;
    const timespec pause{0, 100'000};
    sys::call(SYS_nanosleep, sys::address_of(&pause), 0);
  }
  const Thread own = tls;
  const ThreadWindow window = __syndrome_thread;
  tls = its;
  tls.tid = own.tid;
  __syndrome_thread.cursor = __atomic_load_n(&other.its_window->cursor, __ATOMIC_RELAXED);
  Holder* self = nullptr;
  if (enter(self)) {
    finish(*self);
    leave();
  }
  its.exact = tls.exact;
  its.line = tls.line;
  its.limit = tls.limit;
  tls = own;
  __syndrome_thread = window;
}

__attribute__((destructor)) void at_exit() {
  if (holding()) finish_holding_for_all();
}

}  // namespace

void finish_holding() {
  Holder* self = nullptr;
  if (!enter(self)) return;
  finish(*self);
  leave();
}

void finish_holding_for_all() {
  if (!holding() || tls.busy != 0) return;
  std::uint32_t none = 0;
  if (!last_settler.compare_exchange_strong(none, tls.tid)) return;
  const auto count = static_cast<std::uint32_t>(hold_slots_used);
  std::uint32_t others = 0;
  for (std::uint32_t i = 0; i < count; ++i) others += holder_of(i) != nullptr ? 1 : 0;
  if (others > 1) {
    // Time for stores to be seen: who has not seen ours by then is seen to be busy.
    const timespec pause{0, 100'000};
    sys::call(SYS_nanosleep, sys::address_of(&pause), 0);
    for (std::uint32_t i = 0; i < count; ++i) {
      Holder* const other = holder_of(i);
      if (other != nullptr && other != tls.holder) finish_for(*other);
    }
  }
  finish_holding();
}

}  // namespace syndrome::rt
