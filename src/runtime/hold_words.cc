// The words of a thread that holds its calls back: the functions that run, and what they access.

#include "runtime/follow.h"
#include "runtime/hold.h"
#include "runtime/holder.h"

namespace syndrome::rt {
namespace {

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

}  // namespace

void find_serial(Holder& self) {
  if (self.depth == 0) {
    if (self.call.first != 0) self.call.next_serial();
    return;
  }
  HoldFrame& frame = self.frames[self.depth - 1];
  if (frame.serial < self.settled_serial) frame.serial = ++self.call.serial;
  self.call.set_serial(frame.serial);
}

namespace {

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
  // What the library does, it does for who called it.
  frame.serial = own || self.depth == 0 ? ++self.call.serial : self.frames[self.depth - 1].serial;
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

}  // namespace

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

namespace {

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

/// Of an access: its site's number in the process, 0: none.
struct Named {
  std::uint32_t site = 0;
  bool container = false;
};

[[nodiscard, gnu::noinline]] bool access_cell_slowly(Holder& self, HoldChunk& chunk, Word address,
                                                     Word kinds, Word bytes) {
  const std::size_t number = (address >> kHoldPageBits) % kHoldChunkSmall;
  calls::Cell& cell = chunk.cells[(address >> 3) % kHoldChunkCells];
  calls::Page& page = chunk.pages[number];
  if (__atomic_load_n(&chunk.shared[number], __ATOMIC_ACQUIRE) == 0) {
    if (calls::load(page.cell.a) == 0) {
      __atomic_store_n(&chunk.used[(address >> 12) % kHoldChunkPages], 1, __ATOMIC_RELAXED);
    }
    if (hold_calls.access_page(self.call, page, kinds, hold_bit(address))) {
      return HoldCalls::access_again(self.call, cell, kinds, bytes);
    }
    __atomic_store_n(&chunk.shared[number], 1, __ATOMIC_RELEASE);
  }
  hold_calls.come_behind_page(self.call, page, kinds, hold_bit(address));
  return hold_calls.access(self.call, cell, kinds, bytes);
}
[[nodiscard, gnu::always_inline]] inline bool access_cell(Holder& self, HoldChunk& chunk,
                                                          Word address, Word kinds, Word bytes) {
  calls::Cell& cell = chunk.cells[(address >> 3) % kHoldChunkCells];
  const std::size_t number = (address >> kHoldPageBits) % kHoldChunkSmall;
  if (__atomic_load_n(&chunk.shared[number], __ATOMIC_ACQUIRE) == 0) {
    if (HoldCalls::is_own_page(self.call, chunk.pages[number], kinds, hold_bit(address))) {
      return HoldCalls::access_again(self.call, cell, kinds, bytes);
    }
  } else if (HoldCalls::is_own(self.call, cell, kinds)) {
    return HoldCalls::access_own(self.call, cell, kinds, bytes);
  }
  return access_cell_slowly(self, chunk, address, kinds, bytes);
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

const Word* take_own(Holder& self, const Word* word, const Word* end) {
  if (wire::is_control(*word) || self.depth == 0 || self.call.first == 0) return word;
  if ((self.lost_depth | self.wide | self.leaf) != 0) return word;
  if (self.call_frame == Holder::kNoCall) return word;
  const bool comes = self.depth == self.call_frame + 1 && self.rounds != 0;
  if (self.fill > Holder::kWords - Holder::kSpare) return word;
  const HoldFunction what = self.frames[self.depth - 1].what;
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
    if (comes) come_to(self, number + 1);
    const Word bytes = ((Word{1} << site.bytes) - 1) << from;
    if (access_cell(self, *chunk, address, kinds, bytes)) continue;
    const Word names = calls::load(chunk->names[(address >> 3) % kHoldChunkCells]);
    if ((names & 0xffffffff) == 0 || (names >> 32) == 0) {
      note_name(self, *chunk, address & ~Word{7}, address, site.bytes,
                what.base != 0 ? what.base + number : 0, (site.flags & kHoldContainer) != 0);
    }
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
        const bool known = access_cell(*self, *chunk, at, kinds, 0xff);
        again &= known;
        if (!known && calls::load(chunk->names[(at >> 3) % kHoldChunkCells]) == 0) {
          note_name(*self, *chunk, at, at, 8, named.site, named.container);
        }
        continue;
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

}  // namespace syndrome::rt
