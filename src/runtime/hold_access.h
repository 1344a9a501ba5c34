// What a thread that holds its calls back does to cells, shared by the files that go through its
// accesses. Internal.

#pragma once

#include "event/calls.h"
#include "runtime/holder.h"

namespace syndrome::rt {

/// Of an access: its site's number in the process, 0: none.
struct Named {
  std::uint32_t site = 0;
  bool container = false;
};

/// Of a granule in calls::Recent, by an access to a container or another one.
[[nodiscard]] constexpr Word hold_key(Word address, bool container) {
  return (((address & wire::kAddressMask) >> 3) << 1) | (container ? 1 : 0);
}
/// The kinds of each unit::SiteKind, two bits for each.
[[nodiscard]] constexpr Word kinds_of(unit::SiteKind kind) {
  constexpr Word kKinds = calls::kRead | (calls::kWrite << 2) |
                          ((calls::kRead | calls::kWrite) << 4) | (calls::kRead << 10) |
                          (calls::kWrite << 12);
  return (kKinds >> (2 * static_cast<unsigned>(kind))) & calls::kKinds;
}
[[nodiscard]] inline bool is_container(const unit::Site& site) {
  return (site.flags & kHoldContainer) != 0;
}

// hold_ranges.cc

[[nodiscard]] bool access_cell_slowly(Holder& self, HoldChunk& chunk, Word address, Word key,
                                      Word kinds, Word bytes);
/// Whether all of it has been accessed before (calls::Calls::access).
[[nodiscard]] bool access_bytes(Holder& self, Word address, Word bytes, Word kinds, Named named);
/// The neighbourhoods of a container.
void access_near(Holder& self, Word address, Word kinds);

/// An access to bytes of one granule. Whether it was made before.
[[nodiscard, gnu::always_inline]] inline bool access_cell(Holder& self, HoldChunk& chunk,
                                                          Word address, Word key, Word kinds,
                                                          Word bytes) {
  calls::Cell& cell = chunk.cells[(address >> 3) % kHoldChunkCells];
  const std::size_t number = (address >> kHoldPageBits) % kHoldChunkSmall;
  if (__atomic_load_n(&chunk.shared[number], __ATOMIC_ACQUIRE) == 0) {
    if (HoldCalls::is_own_page(self.call, chunk.pages[number], kinds, hold_bit(address))) {
      return HoldCalls::access_again(self.call, key, kinds, bytes);
    }
  } else if (HoldCalls::is_own(self.call, cell, kinds)) {
    return HoldCalls::access_own(self.call, cell, key, kinds, bytes);
  }
  return access_cell_slowly(self, chunk, address, key, kinds, bytes);
}

}  // namespace syndrome::rt
