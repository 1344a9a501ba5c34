// The accesses of a thread, and the cells that they meet (runtime/shadow.h).

#pragma once

#include "event/sieve_quick.h"
#include "event/sieve_update.h"
#include "runtime/filter.h"
#include "runtime/follow_quiet.h"
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
  [[nodiscard]] std::uint32_t with(std::uint32_t site, unsigned bytes, std::uint32_t other) const {
    return with_site(self.asked, site, bytes, other);
  }
  [[nodiscard]] static std::uint32_t site_of(std::uint32_t site, unsigned byte) {
    return byte_sites.site_of(site, byte);
  }
  [[nodiscard]] static Word horizon(std::uint32_t slot) {
    return sieve::without_block(horizon_of(slot), rt::begin_of(slot));
  }
  /// Its thread may have ended: the filter stays.
  static void intrude(Entry entry) { follower_at(entry.slot())->filter.intrude(); }
  static void intrude_all() {
    for (std::uint32_t i = 0; i < slots_in_use(); ++i) {
      if (Follower* const each = follower_at(i); each != nullptr) each->filter.intrude();
    }
  }
  void forget(Word granule) const {
    filter_forget(self, granule, 8);
    ++self.renewals;  // and what loops did there
  }
  /// What is told next happens now.
  void stamp() const {
    append(wire::time(read_counter()));
    self.draft.leaves = tls.draft != nullptr;
  }
  [[nodiscard]] static Word past(std::uint32_t slot) { return past_of(slot); }
  [[nodiscard]] static Word clear(std::uint32_t slot) { return clear_of(slot); }
  [[nodiscard]] static bool drafts() { return tls.draft != nullptr; }
  [[nodiscard]] static Word begin_of(std::uint32_t slot) { return rt::begin_of(slot); }

  void late(Entry entry, Word granule, unsigned from, unsigned count, bool write,
            std::uint32_t site) {
    const Where where = where_of(site);
    tell_late(entry, write, (granule + from) | (Word{count} << 48), where);
    want_locks(entry.slot(), entry.position());
  }
  void after(Entry entry) { tell_late(entry, false, 0, {}); }
  void tell_late(Entry entry, bool write, Word bytes, Where where) {
    const Word told = told_up_to(entry.slot(), entry.position());
    if (self.thread.only_atomicity) come_behind(self, entry.slot(), told);
    Word* const at = room(wire::kLateWords);
    if (at == nullptr) return;
    const std::uint32_t top =
        entry.slot() | (write ? wire::kLateWrite : 0) | (entry.atomic() ? wire::kLateAtomic : 0);
    at[0] = wire::control(wire::Control::kLate, entry.position() << 4, top);
    at[1] = wire::operand(bytes);
    at[2] = wire::operand(where.unit);
    at[3] = wire::operand(where.index);
    at[4] = wire::operand(told);
    appended(wire::kLateWords);
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
/// An atomic one; and whether nobody has to hear of it.
[[nodiscard]] bool keep_atomic(Follower& self, const Access& access);
void follow_atomic(Host& host, Access& access, Word address, Word bytes);
/// Any bytes.
void follow_bytes(Host& host, Access& access, Word address, Word bytes);
/// Something that lies there is in the trace.
void stir(Word address);
/// Those bytes are another variable from here on. Whether something of them is in the trace, or a
/// lock or its like lies there.
bool renew(Follower& self, Word address, Word bytes);

/// An entry that is the thread's own stays, one that is past becomes 0. False: it is another one.
[[nodiscard]] [[gnu::always_inline]] inline bool own_or_past(const Mine& mine, const Cell& cell,
                                                             Word& entry) {
  if (((entry ^ mine.who) & (Mine::kWho | Entry::kMore)) == 0 && entry >= mine.first) {
    if (cell.forgets(entry, mine.past, mine.clear)) entry = 0;
    return true;
  }
  if (entry == 0) return true;
  constexpr Word kSpecial = Entry::kAtomic | Entry::kLock | Entry::kMore;
  if ((entry & kSpecial) != 0) return false;
  const Entry other{entry};
  if (!cell.forgets(other.position(), past_of(other.slot()), clear_of(other.slot()))) return false;
  entry = 0;
  return true;
}

/// What an access leaves of another thread's entry. False: it has to be told, or is not for here.
[[nodiscard]] [[gnu::always_inline]] inline bool yields(const Mine& mine, const Cell& cell,
                                                        Word& entry, Word both, Word conflicts,
                                                        Word superfluous) {
  constexpr Word kSpecial = Entry::kAtomic | Entry::kLock | Entry::kMore;
  if ((entry & kSpecial) != 0) return false;
  const Entry other{entry};
  const std::uint32_t slot = other.slot();
  if (other.position() < Host::horizon(slot) ||
      cell.forgets(other.position(), past_of(slot), clear_of(slot))) {
    entry = 0;
    return true;
  }
  if ((entry & both) == 0) return true;
  if (sieve::matters(*mine.thread, other, begin_of(slot))) return (entry & conflicts) == 0;
  if ((entry & superfluous) == 0) return true;
  entry &= ~(superfluous | Entry::kTold);
  if ((entry & Entry::kBytes) == 0) entry = 0;
  return true;
}

/// An access to a cell in which four entries are enough, and of which nothing has to be told. Where
/// there would be more than two, it becomes one with the thread's own at this position, also at
/// another site. False: it is another one, and nothing has changed.
/// `accessed` is what an entry has of it: the bytes, in their place for reads or for writes.
[[nodiscard]] bool follow_in_four(const Mine& mine, Cell& cell, Word accessed, std::uint32_t site);
/// The same where two are enough: most of them. `again` counts those that changed nothing because
/// the thread had done the same before.
template <bool kWrite>
[[nodiscard]] [[gnu::always_inline]] inline bool follow_quickly_as(const Mine& mine, Chunk& chunk,
                                                                   Word address, Word bytes,
                                                                   std::uint32_t site,
                                                                   unsigned& again) {
  Cell& cell = chunk.cells[(address >> 3) % kChunkCells];
  const Word was_a = __atomic_load_n(&cell.a, __ATOMIC_RELAXED);
  const Word was_b = __atomic_load_n(&cell.b, __ATOMIC_RELAXED);
  static_assert(Entry::kLock == Entry::kSync);
  constexpr Word kAccessed = kWrite ? 0xff00 : 0xff;
  const Word accessed = kWrite ? bytes << 8 : bytes;
  const Word both = (bytes << 8) | bytes;
  // Of an entry, what this access makes superfluous; and what makes this one superfluous.
  const Word superfluous = kWrite ? both : bytes;
  const Word conflicts = kWrite ? both : bytes << 8;
  const auto is_own = [&](Word entry) {
    return ((entry ^ mine.who) & (Mine::kWho | Entry::kMore)) == 0 && entry >= mine.first;
  };
  const auto covers = [&](Word entry) {
    const Word has = kWrite ? entry >> 8 : entry | (entry >> 8);
    return entry >= mine.since && (bytes & ~has) == 0;
  };
  // What is left of an own one.
  const auto rest = [&](Word entry) {
    const Word left = entry & ~superfluous;
    if (left == entry) return entry;
    return (left & Entry::kBytes) == 0 ? 0 : left & ~Entry::kTold;
  };
  const bool own_a = is_own(was_a);
  const bool own_b = is_own(was_b);
  Word a = was_a;
  Word b = was_b;
  if (own_a) {
    if (cell.forgets(a, mine.past, mine.clear)) a = 0;
  } else if (a != 0 && !yields(mine, cell, a, both, conflicts, superfluous)) {
    return false;
  }
  if (own_b) {
    if (cell.forgets(b, mine.past, mine.clear)) b = 0;
  } else if (b != 0 && !yields(mine, cell, b, both, conflicts, superfluous)) {
    return (b & Entry::kMore) != 0 && follow_in_four(mine, cell, accessed, site);
  }
  if ((own_a && covers(a)) || (own_b && covers(b))) {
    ++again;
    return true;
  }
  std::uint8_t& dirty = chunk.dirty[(address >> 12) % kChunkPages];
  if (__atomic_load_n(&dirty, __ATOMIC_RELAXED) == 0) __atomic_store_n(&dirty, 1, __ATOMIC_RELAXED);
  Word expected = was_a;
  // The same access to a neighbour.
  if (((a ^ mine.fresh) & ~kAccessed) == 0 && cell.site_a == site && (b & superfluous) == 0 &&
      b == was_b) {
    if (!__atomic_compare_exchange_n(&cell.a, &expected, a | accessed, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
      return false;
    }
    if (__atomic_load_n(&cell.b, __ATOMIC_RELAXED) == was_b) return true;
    // Someone has been there in between, and left no trace in a: as if nothing had been done.
    expected = a | accessed;
    (void)__atomic_compare_exchange_n(&cell.a, &expected, a, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED);
    return false;
  }
  // What this one leaves of the two, and where there is room for it.
  if (own_a) a = rest(a);
  if (own_b) b = rest(b);
  if (a != 0 && b != 0) return follow_in_four(mine, cell, accessed, site);
  if (!__atomic_compare_exchange_n(&cell.a, &expected, was_a | Entry::kLock, false,
                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return false;
  }
  if (cell.b != was_b) {
    unlock_cell(cell);
    return false;
  }
  const Word entry = mine.fresh | accessed;
  if (a == 0) {
    if (b != was_b) cell.b = b;
    cell.site_a = site;
    a = entry;
  } else {
    cell.b = entry;
    cell.site_b = site | cell.flags();
  }
  __atomic_store_n(&cell.a, a, __ATOMIC_RELEASE);
  return true;
}
[[nodiscard]] [[gnu::always_inline]] inline bool follow_quickly(const Mine& mine, Chunk& chunk,
                                                                Word address, Word bytes,
                                                                bool write, std::uint32_t site,
                                                                unsigned& again) {
  return write ? follow_quickly_as<true>(mine, chunk, address, bytes, site, again)
               : follow_quickly_as<false>(mine, chunk, address, bytes, site, again);
}

[[gnu::always_inline]] inline void follow(Host& host, Access& access, Word granule,
                                          unsigned bytes) {
  Chunk* const chunk = __atomic_load_n(&chunks[granule >> kChunkBits], __ATOMIC_ACQUIRE);
  unsigned again = 0;
  if (__builtin_expect(static_cast<long>(chunk != nullptr), 1) != 0 &&
      follow_quickly(host.self.mine, *chunk, granule, bytes, access.write, access.site, again)) {
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
    case unit::SiteKind::kObject:
    case unit::SiteKind::kAtomic: return false;
  }
  return false;
}

}  // namespace syndrome::rt
