// Names of variables that calls which are left out have given them (HoldName). They are told as
// what gives a name and no more: an atomic load, which no atomic set counts, in the function of the
// site.

#include "runtime/follower.h"
#include "runtime/hold.h"
#include "runtime/holder.h"

namespace syndrome::rt {
namespace {

[[nodiscard]] constexpr Word name_of(Word site, Word from) {
  return (site & HoldName::kSite) | (from << HoldName::kFromShift);
}

/// The call by which the program's function came to the library's that runs; 0: not known.
[[nodiscard]] Word call_of(const Holder& self) {
  std::uint32_t at = self.depth;
  while (at > 0 && (self.frames[at - 1].what.function->flags & unit::kSystem) != 0) --at;
  if (at == 0 || at == self.depth) return 0;
  const std::uint32_t number = wire::top_of(self.frames[at].word);
  const std::uint32_t base = self.frames[at - 1].what.base;
  return number != 0 && base != 0 ? base + number - 1 : 0;
}

struct Found {
  const unit::Header* unit;
  const unit::Function* function;
  const unit::Site* site;
  std::uint32_t number;  // in the function
};
[[nodiscard]] bool find(Word site, Found& found) {
  const Where where = where_of(static_cast<std::uint32_t>(site));
  if (where.unit == 0) return false;
  found.unit = reinterpret_cast<const unit::Header*>(where.unit);
  const auto* const functions = reinterpret_cast<const unit::Function*>(found.unit + 1);
  found.site = reinterpret_cast<const unit::Site*>(functions + found.unit->functions) + where.index;
  for (std::uint32_t i = 0; i < found.unit->functions; ++i) {
    if (where.index - functions[i].first >= functions[i].sites) continue;
    found.function = &functions[i];
    found.number = where.index - functions[i].first + 1;
    return found.number <= 0xffff;
  }
  return false;
}

/// Whether they give the same name to the same address.
[[nodiscard]] bool same_name(const Found& a, const Found& b) {
  constexpr unsigned kFlags = unit::kHasOffset | unit::kAmbiguous;
  if (((a.site->flags ^ b.site->flags) & kFlags) != 0 || a.site->offset != b.site->offset) {
    return false;
  }
  if (a.unit == b.unit && a.site->name == b.site->name) return true;
  if (a.site->name == 0 || b.site->name == 0) return false;
  const char* one = reinterpret_cast<const char*>(a.unit) + a.site->name;
  const char* other = reinterpret_cast<const char*>(b.unit) + b.site->name;
  for (; *one != 0 && *one == *other; ++one) ++other;
  return *one == *other;
}

void tell_enter(Holder& self, const unit::Function* function, std::uint32_t call) {
  const Word word =
      wire::control(wire::Control::kEnter, reinterpret_cast<std::uintptr_t>(function), call);
  tell_words(self, &word, 1);
}
void tell_exit(Holder& self, const unit::Function* function) {
  const Word word =
      wire::control(wire::Control::kExit, reinterpret_cast<std::uintptr_t>(function), 0);
  tell_words(self, &word, 1);
}

void tell_name(Holder& self, const Found& found, Word call, Word address, Word bytes) {
  Found caller;
  const bool called = call != 0 && find(call, caller);
  if (called) tell_enter(self, caller.function, 0);
  tell_enter(self, found.function, called ? caller.number : 0);
  const Word record[] = {wire::sync(wire::Sync::kAtomicLoad, 4, found.number),
                         wire::operand(address), wire::operand(0),
                         wire::operand(wire::time_of(self.told_time)), wire::operand(bytes)};
  tell_words(self, record, 5);
  tell_exit(self, found.function);
  if (called) tell_exit(self, caller.function);
}

}  // namespace

void note_name(Holder& self, HoldChunk& chunk, Word granule, Word address, Word bytes,
               std::uint32_t site, bool container) {
  Word& names = chunk.names[(granule >> 3) % kHoldChunkCells];
  const Word old = __atomic_load_n(&names, __ATOMIC_RELAXED);
  constexpr Word kLower = 0xffffffff;
  const Word from = address > granule ? address - granule : 0;
  const Word to = address + bytes - granule;
  const bool lower = from < 4;
  const bool upper = to > 4;
  if ((!lower || (old & kLower) != 0) && (!upper || (old >> 32) != 0)) return;
  // What begins before this granule gives no name to what begins here.
  const bool nameless = site == 0 || site >= HoldName::kSite || address < granule;
  const Word name = nameless ? HoldName::kNameless : name_of(site, from & 3);
  Word now = old;
  if (container && lower && old == 0 && !nameless) {
    now = name | HoldName::kContainer | (call_of(self) << 32);
  } else {
    if (lower && (old & kLower) == 0) now |= name;
    if (upper && (old >> 32) == 0) now |= (lower ? HoldName::kNameless : name) << 32;
  }
  __atomic_store_n(&names, now, __ATOMIC_RELAXED);
}

void tell_names(Holder& self, Word address, Word bytes, std::uint32_t site) {
  if (__atomic_load_n(&hold_nothing, __ATOMIC_RELAXED) != 0) return;
  Found own;
  bool known = false;
  for (Word granule = address & ~Word{7}; granule < address + bytes; granule += 8) {
    HoldChunk* const chunk = hold_chunk_at(granule & wire::kAddressMask);
    if (chunk == nullptr) return;
    const Word names = calls::load(chunk->names[(granule >> 3) % kHoldChunkCells]);
    if (names == 0) continue;
    const bool container = (names & HoldName::kContainer) != 0;
    Word& told = self.named[(granule >> 3) % Holder::kNamed];
    if (told == granule) continue;
    for (unsigned half = 0; half < 2; ++half) {
      const Word name = (names >> (32 * half)) & 0xffffffff;
      const Word number = name & HoldName::kSite;
      if (number == 0 || number == HoldName::kNameless) continue;
      const Word begin = granule + 4 * half + ((name >> HoldName::kFromShift) & 3);
      if (begin < address || begin >= address + bytes) continue;
      Found first;
      if (number == site || !find(number, first)) continue;
      if (!container) {
        if (!known && !find(site, own)) own = {};
        known = true;
        if (own.unit != nullptr && same_name(first, own)) continue;
      }
      told = granule;
      const bool access = first.site->kind != unit::SiteKind::kCall &&
                          first.site->kind != unit::SiteKind::kObject;
      const Word length = access && first.site->bytes - 1 < 8 ? first.site->bytes : 1;
      tell_name(self, first, container ? names >> 32 : 0, begin, length);
      if (container) break;
    }
  }
}

}  // namespace syndrome::rt
