// What a thread that holds its calls back does to cells: accesses that are more than a word of the
// line, those of loops, and the first ones of a call to a granule.

#include "runtime/hold.h"
#include "runtime/hold_access.h"
#include "runtime/holder.h"

namespace syndrome::rt {

bool access_cell_slowly(Holder& self, HoldChunk& chunk, Word address, Word key, Word kinds,
                        Word bytes) {
  const std::size_t number = (address >> kHoldPageBits) % kHoldChunkSmall;
  calls::Cell& cell = chunk.cells[(address >> 3) % kHoldChunkCells];
  calls::Page& page = chunk.pages[number];
  if (__atomic_load_n(&chunk.shared[number], __ATOMIC_ACQUIRE) == 0) {
    if (calls::load(page.cell.a) == 0) {
      __atomic_store_n(&chunk.used[(address >> 12) % kHoldChunkPages], 1, __ATOMIC_RELAXED);
    }
    if (hold_calls.access_page(self.call, page, kinds, hold_bit(address))) {
      return HoldCalls::access_again(self.call, key, kinds, bytes);
    }
    __atomic_store_n(&chunk.shared[number], 1, __ATOMIC_RELEASE);
  }
  hold_calls.come_behind_page(self.call, page, kinds, hold_bit(address));
  return hold_calls.access(self.call, cell, key, kinds, bytes);
}

bool access_bytes(Holder& self, Word address, Word bytes, Word kinds, Named named) {
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
    if (!access_cell(self, *chunk, at & wire::kAddressMask, hold_key(at, named.container), kinds,
                     mask & 0xff)) {
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
    hold_calls.touch(self.call, chunk->near[i][(at >> kNearBits) % kHoldChunkNear], kinds);
  }
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
        const bool known =
            access_cell(*self, *chunk, at, hold_key(at, named.container), kinds, 0xff);
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
