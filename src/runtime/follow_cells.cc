#include "runtime/follow_cells.h"

#include "runtime/follow.h"
#include "runtime/follow_pages.h"

namespace syndrome::rt {

namespace {

void update(Host& host, Cell* cell, const Access& access) {
  if (cell == nullptr) {
    // There is no memory to follow this granule: all its accesses are told.
    host.self.thread.after_unknown = true;
    host.forget(access.granule);
    sieve::each_run(access.bytes, [&](unsigned from, unsigned count) {
      if (!access.atomic) host.now(access, from, count);
    });
    return;
  }
  make_draft_room();
  lock_cell(*cell);
  host.self.cell = cell;
  soil(access.granule);
  if (access.atomic || !sieve::update_listed(host, *cell, host.self.thread, access)) {
    sieve::Update<Host>(host, host.self.thread, *cell).access(access);
  }
  host.self.cell = nullptr;
  unlock_cell(*cell);
  settle_draft(host.self);
}

/// Whether that was all of it.
[[gnu::always_inline]] inline bool update_quietly(Host& host, Cell& cell, Word a,
                                                  const Access& access) {
  if ((a & Entry::kLock) != 0 || !__atomic_compare_exchange_n(&cell.a, &a, a | Entry::kLock, false,
                                                              __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return false;
  }
  const bool done = sieve::read_again(host, cell, a, host.self.thread, access) ||
                    sieve::update_quietly(host, cell, a, host.self.thread, access);
  if (a == 0) soil(access.granule);
  unlock_cell(cell);
  return done;
}

}  // namespace

void follow_slowly(Host& host, const Access& access) {
  Cell* const cell = cell_at(access.granule);
  if (cell != nullptr) {
    const Word a = __atomic_load_n(&cell->a, __ATOMIC_RELAXED);
    const Word b = __atomic_load_n(&cell->b, __ATOMIC_RELAXED);
    Word c = 0;
    Word d = 0;
    if ((b & Entry::kMore) != 0) {
      const Cell& more = more_of(*cell);
      c = __atomic_load_n(&more.a, __ATOMIC_RELAXED);
      d = __atomic_load_n(&more.b, __ATOMIC_RELAXED);
    }
    if (sieve::is_known(a, b, c, d, host.self.thread, access.bytes, access.write)) return;
    if ((d & Entry::kMore) == 0 && update_quietly(host, *cell, a, access)) return;
  }
  update(host, cell, access);
}

bool follow_in_four(const Mine& mine, Cell& cell, Word accessed, std::uint32_t site) {
  const bool write = accessed > 0xff;
  const Word bytes = write ? accessed >> 8 : accessed;
  Cell& more = more_of(cell);
  const Word flags_of_b = Entry::kMore | Entry::kSync;
  Word was[4] = {__atomic_load_n(&cell.a, __ATOMIC_RELAXED),
                 __atomic_load_n(&cell.b, __ATOMIC_RELAXED), 0, 0};
  const unsigned all = (was[1] & Entry::kMore) != 0 ? 4 : 2;
  if (all == 4) {
    was[2] = __atomic_load_n(&more.a, __ATOMIC_RELAXED);
    was[3] = __atomic_load_n(&more.b, __ATOMIC_RELAXED);
  }
  if (((was[0] & Entry::kLock) | (was[3] & Entry::kMore)) != 0) return false;
  const Word both = (bytes << 8) | bytes;
  const Word superfluous = write ? both : bytes;
  const Word conflicts = write ? both : bytes << 8;
  const Word fresh = mine.fresh | accessed;
  // What is left of them, in fewer places.
  Word left[5];
  unsigned from[4];
  unsigned count = 0;
  unsigned same = 4;  // the same access to neighbours
  bool covered = false;
  for (unsigned i = 0; i < all; ++i) {
    Word entry = i == 1 ? was[i] & ~flags_of_b : was[i];
    if (entry == 0) continue;
    if (((entry ^ mine.who) & Mine::kWho) == 0 && entry >= mine.first) {
      if (cell.forgets(entry, mine.past, mine.clear)) continue;
      const Word has = write ? entry >> 8 : entry | (entry >> 8);
      covered |= entry >= mine.since && (bytes & ~has) == 0;
      if ((entry & superfluous) != 0) entry &= ~(superfluous | Entry::kTold);
    } else if (!yields(mine, cell, entry, both, conflicts, superfluous)) {
      return false;
    }
    if ((entry & Entry::kBytes) == 0) continue;
    if (sieve::joins(entry, fresh)) same = count;
    from[count] = i;
    left[count++] = entry;
  }
  // Not before all have been looked at: one may be another thread's.
  if (covered) return true;
  std::uint32_t* const sites[4] = {&cell.site_a, &cell.site_b, &more.site_a, &more.site_b};
  std::uint32_t before = 0;
  std::uint32_t joined = 0;
  if (same != 4 && count >= 2) {
    before = __atomic_load_n(sites[from[same]], __ATOMIC_RELAXED) & ~Cell::kFlags;
    joined =
        before == site ? site : with_site(*mine.asked, before, static_cast<unsigned>(bytes), site);
  }
  if (joined == 0 && count == 4) return false;
  Word a = was[0];
  if (!__atomic_compare_exchange_n(&cell.a, &a, a | Entry::kLock, false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED)) {
    return false;
  }
  if (cell.b != was[1] || (all == 4 && (more.a != was[2] || more.b != was[3])) ||
      (joined != 0 && (*sites[from[same]] & ~Cell::kFlags) != before)) {
    unlock_cell(cell);
    return false;
  }
  const std::uint32_t flags = cell.flags();
  std::uint32_t site_of[5];
  for (unsigned i = 0; i < count; ++i) site_of[i] = *sites[from[i]] & ~Cell::kFlags;
  if (joined != 0) {
    left[same] |= fresh;
    site_of[same] = joined;
  } else {
    left[count] = fresh;
    site_of[count++] = site;
  }
  if (count > 2) {
    more.a = left[2];
    more.site_a = site_of[2];
    more.b = count == 4 ? left[3] : 0;
    more.site_b = count == 4 ? site_of[3] : 0;
  }
  cell.b = (count > 1 ? left[1] : 0) | (was[1] & Entry::kSync) | (count > 2 ? Entry::kMore : 0);
  cell.site_b = (count > 1 ? site_of[1] : 0) | flags;
  cell.site_a = site_of[0];
  __atomic_store_n(&cell.a, left[0], __ATOMIC_RELEASE);
  return true;
}

namespace {

void follow_in_cells(Host& host, Access& access, Word address, Word end) {
  while (address < end) {
    const Word next = (address | 7) + 1 < end ? (address | 7) + 1 : end;
    follow(host, access, address & ~Word{7}, ((1u << (next - address)) - 1u) << (address & 7));
    address = next;
  }
}

}  // namespace

void follow_bytes(Host& host, Access& access, Word address, Word bytes) {
  const Word end = address + bytes;
  // The site says neither that it is an access of so many bytes nor, of a call, that it is one.
  host.word = false;
  if (!pages_on) return follow_in_cells(host, access, address, end);
  while (address < end) {
    const Word page = ((address >> pages::kShift) + 1) << pages::kShift;
    const Word stop = page < end ? page : end;
    if (!keep(host.self, access, {address, stop - address})) {
      follow_in_cells(host, access, address, stop);
    }
    address = stop;
  }
}

bool keep_atomic(Follower& self, const Access& access) {
  share(self, access.granule);
  Cell* const cell = cell_at(access.granule);
  if (cell == nullptr || access.is_in_sequence(*cell)) return false;
  const Word a = __atomic_load_n(&cell->a, __ATOMIC_RELAXED);
  const Word b = __atomic_load_n(&cell->b, __ATOMIC_RELAXED);
  const Cell& more = more_of(*cell);
  const bool two = (b & Entry::kMore) != 0;
  const Word c = two ? __atomic_load_n(&more.a, __ATOMIC_RELAXED) : 0;
  const Word d = two ? __atomic_load_n(&more.b, __ATOMIC_RELAXED) : 0;
  if (sieve::is_known_atomic(a, b, c, d, self.thread, access.bytes, access.write)) return true;
  Host host{self};
  lock_cell(*cell);
  self.cell = cell;
  soil(access.granule);
  const bool done = sieve::Update<Host>(host, self.thread, *cell).keep_quietly(access);
  self.cell = nullptr;
  unlock_cell(*cell);
  return done;
}

void follow_atomic(Host& host, Access& access, Word address, Word bytes) {
  const Word end = address + bytes;
  while (address < end) {
    const Word next = (address | 7) + 1 < end ? (address | 7) + 1 : end;
    access.granule = address & ~Word{7};
    access.bytes = ((1u << (next - address)) - 1u) << (address & 7);
    share(host.self, address);
    update(host, cell_at(address), access);
    address = next;
  }
}

void stir(Word address) {
  Cell* const cell = address <= wire::kAddressMask ? cell_at(address) : nullptr;
  if (cell == nullptr || (__atomic_load_n(&cell->site_b, __ATOMIC_RELAXED) & Cell::kStirred) != 0) {
    return;
  }
  soil(address);
  lock_cell(*cell);
  cell->site_b |= Cell::kStirred;
  unlock_cell(*cell);
}

bool renew(Follower& self, Word address, Word bytes) {
  const Word end = address + bytes;
  if (end > wire::kAddressMask) return true;
  filter_forget(self, address, bytes);
  ++self.renewals;
  bool told = false;
  Host host{self};
  while (address < end) {
    Chunk* const chunk = __atomic_load_n(&chunks[address >> kChunkBits], __ATOMIC_ACQUIRE);
    if (chunk == nullptr) {
      address = ((address >> kChunkBits) + 1) << kChunkBits;
      continue;
    }
    const Word page = ((address >> 12) + 1) << 12;
    const Word stop = page < end ? page : end;
    Word& word = page_of(*chunk, address);
    renew_page(self, word, address, stop - address);
    const bool whole = stop - address == 4096;
    std::uint8_t& dirty = chunk->dirty[(address >> 12) % kChunkPages];
    if (__atomic_load_n(&dirty, __ATOMIC_RELAXED) == 0) {
      address = stop;
      if (whole) renewed_page(word);
      continue;
    }
    if (whole) __atomic_store_n(&dirty, 0, __ATOMIC_RELAXED);
    while (address < stop) {
      const Word next = (address | 7) + 1 < stop ? (address | 7) + 1 : stop;
      Cell& cell = *cell_at(address);
      if ((cell.a | cell.b | cell.flags()) != 0) {
        lock_cell(cell);
        told |= cell.flags() != 0 || (cell.b & Entry::kSync) != 0 ||
                (cell.a & ~Entry::kLock) == sieve::kHot;
        if ((cell.b & Entry::kSync) != 0) {
          for (Word object = address; object < next; ++object) forget_clock(object);
          __atomic_fetch_and(&cell.b, ~Entry::kSync, __ATOMIC_RELAXED);
        }
        if ((cell.a & ~Entry::kLock) == sieve::kHot && next - address == 8) {
          cell.a = Entry::kLock;
        }
        sieve::Update<Host> work(host, self.thread, cell);
        work.renew(((1u << (next - address)) - 1u) << (address & 7));
        unlock_cell(cell);
      }
      address = next;
    }
    if (whole) renewed_page(word);
  }
  return told;
}

}  // namespace syndrome::rt
