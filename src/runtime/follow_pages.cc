#include "runtime/follow_pages.h"

#include <linux/membarrier.h>

#include "runtime/filter.h"
#include "runtime/follow.h"
#include "runtime/follow_log.h"
#include "runtime/sys.h"

namespace syndrome::rt {

bool pages_on = false;
bool only_long = false;

namespace {

/// In place of the position: the owner is at it, and the page stays its own.
constexpr Word kFlushing = ~Word{0} >> 12;

[[nodiscard]] bool change(Word& page, Word was, Word now) {
  return __atomic_compare_exchange_n(&page, &was, now, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/// What the owner of a page did is put where it would be without the log; nothing of it is news.
struct Installing : Host {
  static void now(const Access& /*access*/, unsigned /*from*/, unsigned /*count*/) {}
  static void intrude(Entry /*entry*/) {}
  static void forget(Word /*granule*/) {}
  static void stamp() {}
};

/// Calls visit(item) for each single access of an item.
template <class Visit>
[[gnu::always_inline]] inline void each_access(const LogItem& item, const Visit& visit) {
  const bool together = item.step() == 0 || item.step() == LogItem::kDown;
  const Word end = item.first() + item.length();
  // One place that calls it: what it does is long.
  const Word each = together ? item.length() : item.each();
  for (Word address = item.first(); address < end; address += together ? each : item.step()) {
    visit(LogItem{LogItem::place(item.kind(), address), LogItem::access(item.site(), each)});
  }
}

/// At the position of self.owner, as its slot.
void put(Follower& self, const LogItem& item) {
  const Word end = item.address() + item.length();
  Access access;
  access.write = item.kind() == LogItem::kWrite;
  access.site = item.site();
  Installing host{{self}};
  for (Word address = item.address(); address < end;) {
    const Word next = (address | 7) + 1 < end ? (address | 7) + 1 : end;
    Cell& cell = *cell_at(address);
    access.granule = address & ~Word{7};
    access.bytes = ((1u << (next - address)) - 1u) << (address & 7);
    address = next;
    if (item.kind() == LogItem::kRenew && (cell.a | cell.b) == 0) continue;
    lock_cell(cell);
    self.cell = &cell;
    soil(access.granule);
    sieve::Update<Installing> work(host, self.owner, cell);
    if (item.kind() == LogItem::kRenew) {
      work.renew(access.bytes);
    } else {
      work.access(access);
    }
    self.cell = nullptr;
    unlock_cell(cell);
  }
}

void begin_putting(Follower& self, std::uint32_t slot) {
  self.owner.slot = slot;
  self.owner.position = self.owner.since = 0;
}
void go_to(Follower& self, Word position) {
  self.owner.position = self.owner.since = position;
}

/// What the log of the slot has of the page, into cells. How many items there have been.
[[nodiscard]] Word install(Follower& self, std::uint32_t slot, Word address) {
  const Log& log = follower_at(slot)->log;
  const Word end = __atomic_load_n(&log.end, __ATOMIC_ACQUIRE);
  begin_putting(self, slot);
  for (Word i = __atomic_load_n(&log.base, __ATOMIC_ACQUIRE); i < end; ++i) {
    LogItem item;
    // It may grow just now (extend()).
    do {
      item.where = __atomic_load_n(&log.item(i).where, __ATOMIC_ACQUIRE);
      item.what = __atomic_load_n(&log.item(i).what, __ATOMIC_ACQUIRE);
    } while (__atomic_load_n(&log.item(i).where, __ATOMIC_RELAXED) != item.where);
    // The owner has thrown it away: it was over.
    if (__atomic_load_n(&log.base, __ATOMIC_ACQUIRE) > i) continue;
    if (item.kind() == LogItem::kPlace) {
      go_to(self, item.what);
    } else if (((item.address() ^ address) >> pages::kShift) == 0) {
      each_access(item, [&](const LogItem& one) { put(self, one); });
    }
  }
  return end;
}

/// A page that this thread has made kOpening.
void open(Follower& self, Word& page, Word address, std::uint32_t slot) {
  if (slot != self.thread.slot) {
    sys::call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    __atomic_fetch_add(&follower_at(slot)->log.opened, 1, __ATOMIC_RELAXED);
  }
  const Word items = install(self, slot, address);
  __atomic_store_n(&page, pages::word_of(pages::kShared, slot, items), __ATOMIC_RELEASE);
}

/// While the page is kOpening. Who has been gone for so long has been killed, or left by longjmp:
/// it is done in their place.
void wait(Follower& self, Word& page, Word address, Word was, int& tries) {
  constexpr int kTries = 20'000;
  if (++tries > kTries) return open(self, page, address, pages::slot_of(was));
  if (tries < 64) {
    __builtin_ia32_pause();
  } else {
    sys::yield();
  }
}

[[nodiscard]] pages::Next next(const Follower& self, Word page) {
  return pages::next(page, self.thread, over_of(pages::slot_of(page)));
}

}  // namespace

[[gnu::noinline]] bool claim(Follower& self, Word& page, Word address, Word item) {
  for (int tries = 0;;) {
    const Word was = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
    switch (next(self, was)) {
      case pages::Next::kNothing: return true;
      case pages::Next::kTake:
        if (!self.log.off) {
          if (change(page, was, self.mine.page)) return true;
        } else if (change(page, was, pages::word_of(pages::kShared, self.thread.slot, 0))) {
          return false;
        }
        break;
      case pages::Next::kOpen: {
        const Word opening =
            pages::word_of(pages::kOpening, pages::slot_of(was), pages::number_of(was));
        if (change(page, was, opening)) open(self, page, address, pages::slot_of(was));
        break;
      }
      case pages::Next::kWait: wait(self, page, address, was, tries); break;
      case pages::Next::kCells:
        return item != kNoItem && pages::slot_of(was) == self.thread.slot &&
               pages::number_of(was) > item;
    }
  }
}

namespace {

/// As put(), for the simple cases of a cell that nobody else can come to: see follow_quickly_as(),
/// which has to be on its guard. False: nothing has changed.
[[nodiscard]] [[gnu::always_inline]] inline bool put_quickly(const Mine& mine, Cell& cell,
                                                             Word bytes, bool write,
                                                             std::uint32_t site) {
  const Word was_b = cell.b;
  Word a = cell.a;
  Word b = was_b;
  if (!own_or_past(mine, cell, a) || !own_or_past(mine, cell, b)) return false;
  const Word accessed = write ? bytes << 8 : bytes;
  const Word superfluous = write ? accessed | bytes : bytes;
  const auto covers = [&](Word entry) {
    const Word has = write ? entry >> 8 : entry | (entry >> 8);
    return entry >= mine.since && (bytes & ~has) == 0;
  };
  if (covers(a) || covers(b)) return true;
  if (((a ^ mine.fresh) & ~(write ? Word{0xff00} : Word{0xff})) == 0 && cell.site_a == site &&
      (b & superfluous) == 0) {
    cell.a = a | accessed;
    return true;
  }
  const auto rest = [&](Word entry) {
    const Word left = entry & ~superfluous;
    if (left == entry) return entry;
    return (left & Entry::kBytes) == 0 ? 0 : left & ~Entry::kTold;
  };
  a = rest(a);
  b = rest(b);
  if (a != 0 && b != 0) return follow_in_four(mine, cell, accessed, site);
  const Word entry = mine.fresh | accessed;
  if (a == 0) {
    cell.a = entry;
    cell.site_a = site;
    if (b != was_b) cell.b = b;
  } else {
    cell.a = a;
    cell.b = entry;
    cell.site_b = site | cell.flags();
  }
  return true;
}

/// As put(), while the thread is flushing its log.
[[gnu::always_inline]] inline void put_own(Follower& self, const Mine& mine, const LogItem& item) {
  const Word end = item.address() + item.length();
  Chunk& chunk = *chunks[item.address() >> kChunkBits];
  soil(item.address());
  for (Word address = item.address(); address < end;) {
    const Word next = (address | 7) + 1 < end ? (address | 7) + 1 : end;
    const Word bytes = ((Word{1} << (next - address)) - 1) << (address & 7);
    if (item.kind() == LogItem::kRenew ||
        !put_quickly(mine, chunk.cells[(address >> 3) % kChunkCells], bytes,
                     item.kind() == LogItem::kWrite, item.site())) {
      put(self,
          {LogItem::place(item.kind(), address), LogItem::access(item.site(), next - address)});
    }
    address = next;
  }
}

/// The log's items go to cells, but for those of pages that others have opened: theirs are there.
/// Meanwhile nobody opens the others, and the cells of those are this thread's alone. They stay its
/// own when nothing but atomicity is checked.
void flush(Follower& self) {
  Log& log = self.log;
  const std::uint32_t slot = self.thread.slot;
  const Word flushing = pages::word_of(pages::kOpening, slot, kFlushing);
  Mine mine = self.mine;
  // Neighbours mostly lie in the same page.
  const Word* last = nullptr;
  const auto is_last = [&](const Word& page) {
    if (last == &page) return true;
    last = &page;
    return false;
  };
  const auto each = [&](const auto& visit) {
    for (Word i = log.base; i < log.end; ++i) {
      const LogItem& item = log.item(i);
      if (item.kind() == LogItem::kPlace) {
        go_to(self, item.what);
        mine.fresh = Entry::of(slot, item.what).bits;
        mine.since = self.mine.since < mine.fresh ? self.mine.since : mine.fresh;
      } else {
        visit(item, page_of(*chunks[item.address() >> kChunkBits], item.address()));
      }
    }
  };
  each([&](const LogItem& item, Word& page) {
    if (is_last(page)) return;
    for (int tries = 0;;) {
      const Word was = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
      if (pages::slot_of(was) != slot || was == flushing) return;
      if (pages::tag_of(was) == pages::kOwned) {
        if (change(page, was, flushing)) return;
      } else if (pages::tag_of(was) == pages::kOpening) {
        wait(self, page, item.address(), was, tries);
      } else {
        return;
      }
    }
  });
  begin_putting(self, slot);
  each([&](const LogItem& item, Word& page) {
    if (__atomic_load_n(&page, __ATOMIC_ACQUIRE) == flushing) {
      each_access(item, [&](const LogItem& one) { put_own(self, mine, one); });
    }
  });
  last = nullptr;
  each([&](const LogItem& /*item*/, Word& page) {
    if (is_last(page)) return;
    if (__atomic_load_n(&page, __ATOMIC_RELAXED) == flushing) {
      (void)change(page, flushing,
                   only_long ? pages::word_of(pages::kShared, slot, log.end) : self.mine.page);
    }
  });
  log.empty();
}

/// What is over goes, from the oldest on.
void throw_away(Follower& self) {
  Log& log = self.log;
  const Word over = over_of(self.thread.slot);
  Word from = log.base;
  while (from < log.end &&
         (log.item(from).kind() != LogItem::kPlace || log.item(from).what < over)) {
    ++from;
  }
  if (from == log.end) return log.empty();
  __atomic_store_n(&log.base, from, __ATOMIC_RELEASE);
}

}  // namespace

[[gnu::noinline]] void empty_log(Follower& self) {
  if (only_long) {
    throw_away(self);
    if (self.log.count() * 2 > most_items()) flush(self);
    return;
  }
  if (self.thread.begin == 0) {
    told(self);
    pass(self);
  }
  if (self.log.count() == 0) return;
  flush(self);
  if (!self.log.flushed) self.log.sample.begin();
  self.log.flushed = true;
  self.log.lines = 0;
}

void make_pages() {
  only_long = process.session->checked != sieve::Checked::kAtomicity;
  pages_on = sys::call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) >= 0;
}

void begin_log(Follower& self) {
  Log& log = self.log;
  log.off = !pages_on || self.thread.slot >= sieve::kKnown;
  log.flushed = log.direct = false;
  log.opened = 0;
  log.sample.begin();
  log.empty();
}

void end_log(Follower& self) {
  if (only_long) throw_away(self);
  if (self.log.count() != 0) flush(self);
}

void go_direct(Follower& self) {
  if (self.log.count() != 0) flush(self);
  self.log.direct = true;
}

void share(Follower& self, Word address) {
  if (!pages_on || cell_at(address) == nullptr) return;
  Word& page = page_of(*chunks[address >> kChunkBits], address);
  for (int tries = 0;;) {
    const Word was = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
    const std::uint32_t slot = pages::slot_of(was);
    switch (next(self, was)) {
      case pages::Next::kCells: return;
      case pages::Next::kWait: wait(self, page, address, was, tries); break;
      case pages::Next::kNothing:
      case pages::Next::kTake:
        if (!pages::is_logged(was, self.thread, over_of(self.thread.slot))) {
          (void)change(page, was, pages::word_of(pages::kShared, self.thread.slot, self.log.end));
          break;
        }
        [[fallthrough]];
      case pages::Next::kOpen:
        if (change(page, was, pages::word_of(pages::kOpening, slot, pages::number_of(was)))) {
          open(self, page, address, slot);
        }
        break;
    }
  }
}

void renew_page(Follower& self, Word& page, Word address, Word length) {
  if (!pages_on) return;
  const Word was = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
  switch (next(self, was)) {
    case pages::Next::kCells: return;
    case pages::Next::kNothing:
    case pages::Next::kTake:
      // What it had there is past, or there is nothing of it in a log.
      if (pages::tag_of(was) == pages::kNobody || pages::slot_of(was) != self.thread.slot ||
          pages::number_of(was) < over_of(self.thread.slot) || self.log.count() == 0 ||
          !make_room(self, 2)) {
        return;
      }
      add_position(self);
      self.log.closed = self.log.end;
      add(self.log, LogItem::place(LogItem::kRenew, address), LogItem::access(0, length));
      in_order();
      if (__atomic_load_n(&page, __ATOMIC_RELAXED) == was) return;
      [[fallthrough]];
    case pages::Next::kOpen:
    case pages::Next::kWait: (void)claim(self, page, address, kNoItem); return;
  }
}

void renewed_page(Word& page) {
  if (!pages_on) return;
  const Word was = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
  if (pages::tag_of(was) != pages::kShared) return;
  // What its last owner's log still has of it must not be installed again.
  const Log& log = follower_at(pages::slot_of(was))->log;
  if (__atomic_load_n(&log.base, __ATOMIC_ACQUIRE) < pages::number_of(was)) return;
  (void)change(page, was, pages::kNobody);
}

}  // namespace syndrome::rt
