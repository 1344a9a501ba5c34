#include "runtime/follow_pages.h"

#include <linux/membarrier.h>

#include "runtime/filter.h"
#include "runtime/follow.h"
#include "runtime/sys.h"

namespace syndrome::rt {

bool pages_on = false;
bool only_long = false;

namespace {

constexpr Word kPageBytes = Word{1} << pages::kShift;
constexpr Word kNoItem = ~Word{0};
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

/// For an access that is the item of that number in the log, or none. Whether it need not go to
/// cells: the page is the thread's own, or who opened it has taken the item from there.
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
    cell.site_b = site | cell.stirred();
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

/// More could be kept when more than atomicity is checked, too; but a log that is looked through
/// for each page that is opened should be short.
[[nodiscard]] Word most_items() {
  return only_long ? Log::kItems / 32 : Log::kItems;
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

/// Room for items of one line, and for their position; false: the thread does without a log.
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
[[nodiscard]] inline bool make_room(Follower& self, Word items) {
  if (self.log.off || self.log.direct) return false;
  if (__builtin_expect(static_cast<long>(self.log.count() + items > most_items()), 0) != 0) {
    empty_log(self);
  }
  return true;
}

[[gnu::always_inline]] inline void add(Log& log, Word where, Word what) {
  LogItem& item = log.item(log.end);
  __atomic_store_n(&item.what, what, __ATOMIC_RELAXED);
  __atomic_store_n(&item.where, where, __ATOMIC_RELEASE);
  __atomic_store_n(&log.end, log.end + 1, __ATOMIC_RELEASE);
}
[[gnu::always_inline]] inline void add_position(Follower& self) {
  if (self.log.position == self.thread.position) return;
  self.log.position = self.thread.position;
  self.log.closed = self.log.end;
  add(self.log, LogItem::place(LogItem::kPlace, 0), self.thread.position);
}
/// Where a page begins or ends, nothing follows.
[[nodiscard]] inline Word next_up(Word word) {
  return word % kPageBytes == 0 ? 0 : word;
}
[[nodiscard]] inline Word next_down(Word word, Word bytes) {
  return word % kPageBytes == 0 ? 0 : word - bytes;
}
/// Whether the access lies next to the last item of its site, which has it from here on. Who opens
/// the page meanwhile may see the item without it, and never anything else: that the item goes down
/// is said before it becomes longer, and means the same while it is a single access.
[[nodiscard]] [[gnu::always_inline]] inline bool extend(Log& log, Recent& recent, Word word,
                                                        std::uint32_t base) {
  if ((word != recent.up && word != recent.down) || recent.base != base ||
      recent.number <= log.closed) {
    return false;
  }
  LogItem& item = log.item(recent.number);
  const Word bytes = recent.bytes;
  if (word == recent.up) {
    recent.up = next_up(word + bytes);
    recent.down = 0;
  } else {
    if (item.step() == 0) {
      const Word last = wire::address_of(word) + 2 * bytes - 1;
      __atomic_store_n(&item.where, LogItem::place(item.kind(), last, LogItem::kDown),
                       __ATOMIC_RELEASE);
    }
    recent.up = 0;
    recent.down = next_down(word, bytes);
  }
  __atomic_store_n(&item.what, item.what + LogItem::access(0, bytes), __ATOMIC_RELEASE);
  return true;
}
/// What comes behind it in the program's text is done behind it, but for what only membarrier()
/// sees.
void in_order() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace

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

namespace {

/// Whether the function that runs is not one whose accesses are taken here.
[[nodiscard]] inline bool is_elsewhere(const Follower& self) {
  return self.depth == 0 || self.leaf != 0;
}

/// Accesses to pages that are the thread's own, and functions. The first word that is another one.
/// The log is at the thread's position, which stays as long as nothing is told.
[[nodiscard]] const Word* take_logged(Follower& self, const Follower::Sites*& sites_of,
                                      const Word* word, const Word* end) {
  Log& log = self.log;
  Follower::Sites sites = *sites_of;
  const Word own = self.mine.page;
  Word index = ~Word{0};
  Chunk* chunk = nullptr;
  for (; word < end; ++word) {
    const Word it = *word;
    Recent& recent = log.recent[wire::top_of(it) % Recent::kSites];
    if (extend(log, recent, it, sites.base)) {
      in_order();
      if (__atomic_load_n(recent.page, __ATOMIC_RELAXED) == own) continue;
      // Whoever opens the page may have taken the item before or behind that.
      recent.number = 0;
      break;
    }
    if (wire::is_control(it)) {
      if (!take_function(self, it)) break;
      if (is_elsewhere(self)) return word + 1;
      sites_of = &sites_of_function(self, self.frames[self.depth - 1].function);
      sites = *sites_of;
      continue;
    }
    const std::uint32_t number = wire::top_of(it) - 1;
    if (number >= sites.count) break;
    const unit::Site& site = sites.first[number];
    const Word address = wire::address_of(it);
    const Word bytes = site.bytes;
    if (site.kind > unit::SiteKind::kReadWrite || address % kPageBytes + bytes > kPageBytes) break;
    if (address >> kChunkBits != index) {
      index = address >> kChunkBits;
      chunk = __atomic_load_n(&chunks[index], __ATOMIC_ACQUIRE);
      if (chunk == nullptr) break;
    }
    Word& page = page_of(*chunk, address);
    if (__atomic_load_n(&page, __ATOMIC_ACQUIRE) != own) break;
    recent = {log.end, next_up(it + bytes), next_down(it, bytes),
              &page,   sites.base,          static_cast<std::uint32_t>(bytes)};
    const Word kind = site.kind != unit::SiteKind::kRead ? LogItem::kWrite : LogItem::kRead;
    add(log, LogItem::place(static_cast<LogItem::Kind>(kind), address),
        LogItem::access(sites.base + number, bytes));
    in_order();
    if (__builtin_expect(static_cast<long>(__atomic_load_n(&page, __ATOMIC_RELAXED) == own), 1) !=
        0) {
      continue;
    }
    if (claim(self, page, address, log.end - 1)) continue;
    recent.number = 0;
    log.take_back();
    break;
  }
  return word;
}

}  // namespace

const Word* take_paged(Follower& self, const Word* word, const Word* end) {
  Log& log = self.log;
  const Follower::Sites* sites = &sites_of_function(self, self.frames[self.depth - 1].function);
  const bool logs = make_room(self, static_cast<Word>(end - word) + 1);
  const bool filtered = __syndrome_thread.filter != nullptr;
  const Word own = self.mine.page;
  const bool samples = log.sample.now && !filtered;
  unsigned again = 0;
  Word index = ~Word{0};
  Chunk* chunk = nullptr;
  if (logs && !samples && log.position == self.thread.position) {
    word = take_logged(self, sites, word, end);
  }
  for (; word < end && !is_elsewhere(self); ++word) {
    if (wire::is_control(*word)) {
      if (!take_function(self, *word)) break;
      if (is_elsewhere(self)) continue;
      sites = &sites_of_function(self, self.frames[self.depth - 1].function);
      continue;
    }
    const std::uint32_t number = wire::top_of(*word) - 1;
    if (number >= sites->count) break;
    const unit::Site& site = sites->first[number];
    const Word address = wire::address_of(*word);
    if (site.kind > unit::SiteKind::kReadWrite || address % kPageBytes + site.bytes > kPageBytes) {
      break;
    }
    if (address >> kChunkBits != index) {
      index = address >> kChunkBits;
      chunk = __atomic_load_n(&chunks[index], __ATOMIC_ACQUIRE);
      if (chunk == nullptr) break;
    }
    Word& page = page_of(*chunk, address);
    const bool write = site.kind != unit::SiteKind::kRead;
    if (samples) log.sample.see(address, write, self.thread.since);
    const Word now = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
    if (pages::tag_of(now) == pages::kShared) {
      // To cells.
    } else if (logs) {
      if (samples) ++log.sample.kept;
      const LogItem::Kind kind = write ? LogItem::kWrite : LogItem::kRead;
      add_position(self);
      add(log, LogItem::place(kind, address), LogItem::access(sites->base + number, site.bytes));
      in_order();
      if (__atomic_load_n(&page, __ATOMIC_RELAXED) == own ||
          claim(self, page, address, log.end - 1)) {
        if (samples) continue;
        word = take_logged(self, sites, word + 1, end) - 1;
        continue;
      }
      log.take_back();
    } else if (now != own) {
      (void)claim(self, page, address, kNoItem);
    }
    if (samples) ++log.sample.passed_on;
    const Word from = address & 7;
    if (from + site.bytes > 8) break;
    const Word bytes = ((Word{1} << site.bytes) - 1) << from;
    if (!follow_quickly(self.mine, *chunk, address, bytes, write, sites->base + number, again)) {
      break;
    }
  }
  filter_lost(self, again);
  return word;
}

namespace {

/// What makes a page one's own, where not everything does. Whose pages others come to all the time
/// has nothing from them: each costs them a barrier of all threads.
[[nodiscard]] bool is_worth_it(const Follower& self, const Stretch& stretch) {
  constexpr Word kLong = 256;
  constexpr Word kMany = 16;
  constexpr std::uint32_t kMostOpened = 64;
  return stretch.length >= kLong && stretch.length >= kMany * stretch.step &&
         __atomic_load_n(&self.log.opened, __ATOMIC_RELAXED) < kMostOpened;
}

}  // namespace

bool keep_slowly(Follower& self, Word& page, const Access& access, const Stretch& stretch) {
  Log& log = self.log;
  const Word address = stretch.address;
  if (only_long && !is_worth_it(self, stretch) &&
      !pages::is_logged(__atomic_load_n(&page, __ATOMIC_ACQUIRE), self.thread,
                        over_of(self.thread.slot))) {
    share(self, address);
    return false;
  }
  if (!make_room(self, 2)) {
    (void)claim(self, page, address, kNoItem);
    return false;
  }
  add_position(self);
  add(log, LogItem::place(access.write ? LogItem::kWrite : LogItem::kRead, address, stretch.step),
      LogItem::access(access.site, stretch.length, stretch.each));
  in_order();
  if (__atomic_load_n(&page, __ATOMIC_RELAXED) == self.mine.page ||
      claim(self, page, address, log.end - 1)) {
    return true;
  }
  log.take_back();
  return false;
}

Strides keep_strides(Follower& self, const Access& access, Word address, std::int64_t stride,
                     std::uint64_t count, Word each) {
  if (!pages_on) return {count, false};
  const auto step = static_cast<Word>(stride < 0 ? -stride : stride);
  const Word at = address & wire::kAddressMask;
  const Word room = stride < 0 ? at % kPageBytes : kPageBytes - 1 - at % kPageBytes;
  Word these = room / step + 1;
  if (these > count) these = count;
  if (step > LogItem::kMostStep) these = 1;
  const Word length = (these - 1) * step + each;
  const Word first = stride < 0 ? at - (these - 1) * step : at;
  return {these, keep(self, access, {first, length, these == 1 ? 0 : step, each})};
}

bool keep_short_run(Follower& self, const SyndromeRun& run, const void* const* first,
                    std::uint64_t rounds, std::uint32_t rest) {
  if (!pages_on || only_long || !make_room(self, run.sites + 1)) return false;
  const Follower::Sites& sites =
      sites_of_function(self, static_cast<const unit::Function*>(run.function));
  for (std::uint32_t i = 0; i < run.sites; ++i) {
    const Word count = rounds + (i < rest ? 1 : 0);
    if (count == 0 || (run.flags & (SyndromeRun::kCovered << i)) != 0) continue;
    const std::uint32_t number = wire::top_of(run.tops[i]) - 1;
    if (number >= sites.count) return false;
    const unit::Site& site = sites.first[number];
    const std::int64_t stride = wire::stride_of(run.strides[i / wire::kStridesInWord], i);
    const Word length = count * site.bytes;
    const Word from =
        reinterpret_cast<std::uintptr_t>(first[i]) - (stride < 0 ? length - site.bytes : 0);
    if (site.kind > unit::SiteKind::kReadWrite ||
        static_cast<Word>(stride < 0 ? -stride : stride) != site.bytes ||
        from % kPageBytes + length > kPageBytes) {
      return false;
    }
    Chunk* const chunk = __atomic_load_n(&chunks[from >> kChunkBits], __ATOMIC_ACQUIRE);
    if (chunk == nullptr) return false;
    const Word& page = page_of(*chunk, from);
    if (__atomic_load_n(&page, __ATOMIC_ACQUIRE) != self.mine.page) return false;
    add_position(self);
    const bool write = site.kind != unit::SiteKind::kRead;
    add(self.log, LogItem::place(write ? LogItem::kWrite : LogItem::kRead, from),
        LogItem::access(sites.base + number, length));
    in_order();
    if (__atomic_load_n(&page, __ATOMIC_RELAXED) != self.mine.page) return false;
  }
  return true;
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
