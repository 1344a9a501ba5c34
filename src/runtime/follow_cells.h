// The accesses of a thread, and the cells that they meet (runtime/shadow.h).

#pragma once

#include "runtime/follower.h"

namespace syndrome::rt {

/// What event/sieve.h asks for.
struct Host {
  Follower& self;
  std::uint32_t number = 0;  // of the site in its function
  bool word = false;         // the access lies in one granule: an access word says it
  bool site_is_call = false;

  static Cell& more(const Cell& cell) { return more_of(cell); }
  static sieve::Node& node(std::uint32_t at) { return node_at(at); }
  std::uint32_t new_node() {
    constexpr std::uint32_t kTogether = 64;
    if (self.free_nodes == 0) {
      const std::uint32_t first = more_nodes(kTogether);
      if (first == 0) return 0;
      for (std::uint32_t i = 0; i < kTogether; ++i) free_node(first + kTogether - 1 - i);
    }
    const std::uint32_t taken = self.free_nodes;
    self.free_nodes = node_at(taken).next;
    node_at(taken) = {};
    return taken;
  }
  void free_node(std::uint32_t at) {
    node_at(at).next = self.free_nodes;
    self.free_nodes = at;
  }
  [[nodiscard]] static Word horizon(std::uint32_t slot) { return horizon_of(slot); }
  [[nodiscard]] static Word begin_of(std::uint32_t slot) { return rt::begin_of(slot); }

  void late(Entry entry, Word granule, unsigned from, unsigned count, bool write,
            std::uint32_t site) {
    const Where where = where_of(site);
    tell_late(entry, write, (granule + from) | (Word{count} << 48), where);
  }
  void after(Entry entry) { tell_late(entry, false, 0, {}); }
  static void tell_late(Entry entry, bool write, Word bytes, Where where) {
    Word* const at = room(4);
    if (at == nullptr) return;
    const std::uint32_t top =
        entry.slot() | (write ? wire::kLateWrite : 0) | (entry.atomic() ? wire::kLateAtomic : 0);
    at[0] = wire::control(wire::Control::kLate, entry.position() << 4, top);
    at[1] = wire::operand(bytes);
    at[2] = wire::operand(where.unit);
    at[3] = wire::operand(where.index);
    appended(4);
  }

  void now(const Access& access, unsigned from, unsigned count) {
    tell_frames(self);
    const unsigned those = ((1u << count) - 1u) << from;
    if (word && those == access.bytes && !access.atomic) {
      if (number > 0xffff) append(wire::control(wire::Control::kWide, 0, number >> 16));
      append(wire::access(access.granule + from, number & 0xffff));
    } else {
      if (access.reads) range(access.granule + from, count, access.atomic, false);
      range(access.granule + from, count, access.atomic, access.write);
    }
    told(self);
  }
  void range(Word address, Word length, bool atomic, bool write) const {
    Word* const at = room(3);
    if (at == nullptr) return;
    const Word flags = (write ? 16u : 0u) | (site_is_call ? 32u : 0u) | (atomic ? 64u : 0u);
    at[0] = wire::control(wire::Control::kRange, flags, number <= 0xffff ? number : 0);
    at[1] = wire::operand(address);
    at[2] = wire::operand(length);
    appended(3);
  }
};

/// One access, to bytes of one granule, that is not one of the simple ones.
void follow_slowly(Host& host, const Access& access);
/// An atomic one.
void follow_atomic(Host& host, Access& access, Word address, Word bytes);
/// Any bytes.
void follow_bytes(Host& host, Access& access, Word address, Word bytes);
/// Those bytes are another variable from here on.
void renew(Follower& self, Word address, Word bytes);

/// An access to a cell that has only what its own thread did: most of them. False: it is another
/// one, and nothing has changed.
[[nodiscard]] bool follow_own_four(const Mine& mine, Cell& cell, Word bytes, bool write,
                                   std::uint32_t site);
[[nodiscard]] [[gnu::always_inline]] inline bool follow_own(const Mine& mine, Cell& cell,
                                                            Word bytes, bool write,
                                                            std::uint32_t site) {
  Word a = __atomic_load_n(&cell.a, __ATOMIC_RELAXED);
  const Word b = __atomic_load_n(&cell.b, __ATOMIC_RELAXED);
  static_assert(Entry::kLock == Entry::kSync);
  if (((a ^ mine.who) & Mine::kWho) != 0 || a < mine.first) return false;
  if (b != 0 && (((b ^ mine.who) & (Mine::kWho | Entry::kMore)) != 0 || b < mine.first)) {
    return (b & Entry::kMore) != 0 && follow_own_four(mine, cell, bytes, write, site);
  }
  const Word a_has = write ? a >> 8 : a | (a >> 8);
  if (a >= mine.since && (bytes & ~a_has) == 0) return true;
  const Word b_has = write ? b >> 8 : b | (b >> 8);
  if (b >= mine.since && (bytes & ~b_has) == 0) return true;
  // What this one leaves of the two, and where there is room for it.
  const Word superfluous = (write ? bytes << 8 : 0) | bytes;
  const Word rest_a = a & ~superfluous;
  const Word rest_b = b & ~superfluous;
  const bool in_a = (rest_a & Entry::kBytes) == 0;
  if (!in_a && (rest_b & Entry::kBytes) != 0) return false;
  if (!__atomic_compare_exchange_n(&cell.a, &a, a | Entry::kLock, false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED)) {
    return false;
  }
  if (cell.b != b) {
    unlock_cell(cell);
    return false;
  }
  const Word entry = mine.fresh | (write ? bytes << 8 : bytes);
  constexpr Word kTold = Entry::kTold;
  if (in_a) {
    cell.b = rest_b == b ? b : ((rest_b & Entry::kBytes) == 0 ? 0 : rest_b & ~kTold);
    cell.site_a = site;
    __atomic_store_n(&cell.a, entry, __ATOMIC_RELEASE);
    return true;
  }
  cell.b = entry;
  cell.site_b = site;
  __atomic_store_n(&cell.a, rest_a == a ? a : rest_a & ~kTold, __ATOMIC_RELEASE);
  return true;
}

[[gnu::always_inline]] inline void follow(Host& host, Access& access, Word granule,
                                          unsigned bytes) {
  Chunk* const chunk = __atomic_load_n(&chunks[granule >> kChunkBits], __ATOMIC_ACQUIRE);
  if (__builtin_expect(static_cast<long>(chunk != nullptr), 1) != 0 &&
      follow_own(host.self.mine, chunk->cells[(granule >> 3) % kChunkCells], bytes, access.write,
                 access.site)) {
    return;
  }
  access.granule = granule;
  access.bytes = bytes;
  follow_slowly(host, access);
}

/// What kind of access a site is; false: none.
[[nodiscard]] inline bool describe(const unit::Site& site, Access& access) {
  if (__builtin_expect(static_cast<long>(site.kind <= unit::SiteKind::kReadWrite), 1) != 0) {
    access.write = site.kind != unit::SiteKind::kRead;
    access.reads = site.kind == unit::SiteKind::kReadWrite;
    return true;
  }
  switch (site.kind) {
    case unit::SiteKind::kRead:
    case unit::SiteKind::kRangeRead: return true;
    case unit::SiteKind::kReadWrite: access.reads = access.write = true; return true;
    case unit::SiteKind::kWrite:
    case unit::SiteKind::kRangeWrite: access.write = true; return true;
    case unit::SiteKind::kCall:
    case unit::SiteKind::kAtomic: return false;
  }
  return false;
}

}  // namespace syndrome::rt
