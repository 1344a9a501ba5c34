// The words of a thread that holds its calls back: the functions that run, and what they access.

#include "runtime/follow.h"
#include "runtime/hold.h"
#include "runtime/hold_access.h"
#include "runtime/holder.h"

namespace syndrome::rt {
namespace {

// Functions.

[[nodiscard, gnu::always_inline]] inline const HoldFunction& function_at(
    Holder& self, const unit::Function* function) {
  HoldFunction& known =
      self.functions[(reinterpret_cast<std::uintptr_t>(function) >> 5) % Holder::kFunctions];
  if (known.function != function) [[unlikely]]
    known = find_hold_function(function);
  return known;
}
[[nodiscard]] const unit::Function* function_of(Word word) {
  return reinterpret_cast<const unit::Function*>(wire::payload_of(word));
}

void begin_call(Holder& self, std::uint32_t frame) {
  self.call_frame = frame;
  self.rounds = self.anew = 0;
  forget_places(self);
  self.round_frame = 0;
}

/// The function of the call comes to a place. Mostly it has been there.
[[gnu::always_inline]] inline void come(Holder& self, std::uint32_t place) {
  if (self.rounds == 0) return;
  if (self.anew == 0 && place < 64 && ((self.place_bits >> place) & 1) != 0) return;
  come_to(self, place);
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

/// The outermost function that is or may be a unit. What the line has from outside of calls before
/// it is taken to be part of its call.
[[gnu::noinline]] void push_call(Holder& self, HoldFrame& frame) {
  if (self.call_frame == Holder::kNoCall) {
    begin_call(self, self.depth);
    begin_part(self);
    frame.serial = ++self.call.serial;
  }
  if (frame.what.role == HoldRole::kDeclared) ++self.declared;
}

[[gnu::always_inline]] inline void push(Holder& self, Word word, bool leaf) {
  if (self.depth == Holder::kMaxDepth || self.lost_depth != 0) [[unlikely]] {
    ++self.lost_depth;
    return;
  }
  if (self.depth == self.call_frame + 1) come(self, wire::top_of(word));
  HoldFrame& frame = self.frames[self.depth];
  frame.what = function_at(self, function_of(word));
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
  if (frame.what.role >= HoldRole::kMember) push_call(self, frame);
  if (self.call.first != 0) {
    // Room for a line is there (settle_words()). A release is the last word until something
    // happens.
    frame.leaf = leaf;
    self.words[self.fill++] = leaf ? word : frame.word;
  }
  ++self.depth;
  self.own += own ? 1 : 0;
  self.call.set_serial(frame.serial);
}

[[gnu::always_inline]] inline void pop_frame(Holder& self) {
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

}  // namespace

void pop(Holder& self) {
  pop_frame(self);
}

namespace {

[[gnu::noinline]] void exit_function(Holder& self, const unit::Function* function) {
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

[[nodiscard]] bool is_leaf(Word word) {
  return wire::is_control(word) && (word & wire::kOperandBit) == 0 &&
         wire::kind_of(word) == wire::Control::kLeaf;
}
/// Behind its access.
void end_leaf(Holder& self) {
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

/// Any access.
[[gnu::noinline]] void take_access(Holder& self, Word word) {
  const std::uint32_t number = wire::top_of(word) | self.wide;
  const std::uint32_t wide = self.wide;
  self.wide = 0;
  if (self.depth != 0 && self.lost_depth == 0) {
    const HoldFunction& what = self.frames[self.depth - 1].what;
    const unit::Site* const site = number - 1 < what.count ? &what.sites[number - 1] : nullptr;
    const Word kinds = site != nullptr ? kinds_of(site->kind) : 0;
    if (kinds != 0 && site->bytes != 0) {
      if (self.call.first == 0 || self.call_frame == Holder::kNoCall) accessed(self);
      if (self.depth == self.call_frame + 1) come(self, number);
      const Word address = wire::address_of(word);
      const bool container = is_container(*site);
      const bool again = access_bytes(self, address, site->bytes, kinds,
                                      {what.base != 0 ? what.base + number - 1 : 0, container});
      if (container) access_near(self, address, kinds);
      if (!again) {
        make_room(self);
        if (wide != 0) put(self, wire::control(wire::Control::kWide, 0, wide >> 16));
        put(self, word);
      }
    }
  }
  if (self.leaf != 0) end_leaf(self);
}

/// An access to one granule.
struct Small {
  Word address;
  Word key;
  Word kinds;  // 0: it is another one
  Word bytes;  // a bit for each
  bool container;
};
[[nodiscard, gnu::always_inline]] inline Small small_at(Word word, const unit::Site& site) {
  const Word address = wire::address_of(word);
  const Word from = address & 7;
  const Word kinds = kinds_of(site.kind);
  const bool container = is_container(site);
  const bool is_small = site.bytes - 1 < 8 && from + site.bytes <= 8;
  return {address, hold_key(address, container), is_small ? kinds : 0,
          ((Word{1} << (site.bytes & 15)) - 1) << from, container};
}

/// One that is not known to have been made before.
[[gnu::always_inline]] inline bool take_small(Holder& self, Word word, const Small& access,
                                              const HoldFunction& what, const unit::Site& site) {
  HoldChunk* const chunk =
      __atomic_load_n(&hold_chunks[access.address >> kHoldChunkBits], __ATOMIC_ACQUIRE);
  if (chunk == nullptr) [[unlikely]]
    return false;
  if (access.container) access_near(self, access.address, access.kinds);
  if (access_cell(self, *chunk, access.address, access.key, access.kinds, access.bytes)) {
    return true;
  }
  const Word names = calls::load(chunk->names[(access.address >> 3) % kHoldChunkCells]);
  if ((names & 0xffffffff) == 0 || (names >> 32) == 0) {
    const auto number = static_cast<std::uint32_t>(&site - what.sites);
    note_name(self, *chunk, access.address & ~Word{7}, access.address, site.bytes,
              what.base != 0 ? what.base + number : 0, access.container);
  }
  put(self, word);
  return true;
}

/// Accesses of the function that runs. The first word that is something else.
[[nodiscard, gnu::always_inline]] inline const Word* take_accesses(Holder& self, const Word* word,
                                                                   const Word* end) {
  if (self.depth == 0 || (self.lost_depth | self.wide) != 0) {
    take_access(self, *word);
    return word + 1;
  }
  const HoldFunction& what = self.frames[self.depth - 1].what;
  bool ready = self.call.first != 0 && self.call_frame != Holder::kNoCall;
  do {
    const std::uint32_t number = wire::top_of(*word) - 1;
    if (number >= what.count) break;
    const unit::Site& site = what.sites[number];
    const Small access = small_at(*word, site);
    if (access.kinds == 0) break;
    if (!ready) accessed(self);
    ready = true;
    if (self.depth == self.call_frame + 1) come(self, number + 1);
    if (!hold_calls.is_known(self.call, access.key, access.kinds, access.bytes) &&
        !take_small(self, *word, access, what, site)) {
      break;
    }
    ++word;
    if (self.leaf != 0) {
      end_leaf(self);
      return word;
    }
  } while (word < end && !wire::is_control(*word));
  if (word == end || wire::is_control(*word)) return word;
  take_access(self, *word);
  return word + 1;
}

/// Whether a function of the library does nothing but an access that is known: then neither counts.
[[nodiscard, gnu::always_inline]] inline bool is_known_leaf(Holder& self, Word leaf, Word word) {
  if (wire::is_control(word) || self.call.first == 0 || self.depth == 0) return false;
  if (self.call_frame == Holder::kNoCall || (self.lost_depth | self.wide) != 0) return false;
  const HoldFunction& what = function_at(self, function_of(leaf));
  const std::uint32_t number = wire::top_of(word) - 1;
  if (what.role != HoldRole::kLibrary || number >= what.count) return false;
  const Small access = small_at(word, what.sites[number]);
  if (access.kinds == 0) return false;
  if (self.depth == self.call_frame + 1) come(self, wire::top_of(leaf));
  return hold_calls.is_known(self.call, access.key, access.kinds, access.bytes);
}

}  // namespace

void accessed(Holder& self) {
  if (self.call_frame == Holder::kNoCall) {
    std::uint32_t at = self.depth;
    while (at > 0 && self.frames[at - 1].what.role == HoldRole::kLibrary) --at;
    if (at != 0 && self.frames[at - 1].what.role == HoldRole::kAccessor) {
      begin_call(self, at - 1);
    }
  }
  begin_part(self);
}

void take_words(Holder& self, const Word* word, const Word* end) {
  while (word < end && holding()) {
    const Word now = *word;
    if (!wire::is_control(now)) {
      word = take_accesses(self, word, end);
      continue;
    }
    ++word;
    switch (wire::kind_of(now)) {
      case wire::Control::kLeaf:
        if (word < end && is_known_leaf(self, now, *word)) {
          ++word;
          break;
        }
        self.leaf = 1;
        push(self, now, true);
        break;
      case wire::Control::kEnter: push(self, now, false); break;
      case wire::Control::kExit: {
        const unit::Function* const function = function_of(now);
        if (self.lost_depth == 0 && self.depth != 0 &&
            self.frames[self.depth - 1].what.function == function) [[likely]] {
          pop_frame(self);
        } else {
          exit_function(self, function);
        }
        break;
      }
      case wire::Control::kWide: self.wide = wire::top_of(now) << 16; break;
      default: break;
    }
  }
}

}  // namespace syndrome::rt
