#include "runtime/follow_log.h"

#include "runtime/filter.h"
#include "runtime/follow.h"

namespace syndrome::rt {

namespace {

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

bool keep_spots(Follower& self, const SyndromeRun& run, const void* first, std::uint64_t bits) {
  constexpr Word kMost = 32;
  if (!pages_on || only_long || !make_room(self, kMost + 1)) return false;
  const Follower::Sites& sites =
      sites_of_function(self, static_cast<const unit::Function*>(run.function));
  const std::uint32_t number = wire::top_of(run.tops[0]) - 1;
  if (number >= sites.count) return false;
  const unit::Site& site = sites.first[number];
  const std::int64_t stride = wire::stride_of(run.strides[0], 0);
  const Word bytes = site.bytes;
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  const auto most = static_cast<Word>(63 - __builtin_clzll(bits));
  const Word last = begin + static_cast<Word>(stride) * most;
  Chunk* const chunk = __atomic_load_n(&chunks[begin >> kChunkBits], __ATOMIC_ACQUIRE);
  if (site.kind > unit::SiteKind::kReadWrite || bytes == 0 || begin % bytes != 0 ||
      static_cast<Word>(stride < 0 ? -stride : stride) != bytes ||
      (begin ^ last) >> pages::kShift != 0 || chunk == nullptr) {
    return false;
  }
  const Word& page = page_of(*chunk, begin);
  if (__atomic_load_n(&page, __ATOMIC_ACQUIRE) != self.mine.page) return false;
  add_position(self);
  const LogItem::Kind kind = site.kind != unit::SiteKind::kRead ? LogItem::kWrite : LogItem::kRead;
  each_stretch(run, first, bits, [&](Word from, Word rounds) {
    add(self.log, LogItem::place(kind, stride < 0 ? from - (rounds - 1) * bytes : from),
        LogItem::access(sites.base + number, rounds * bytes));
  });
  in_order();
  return __atomic_load_n(&page, __ATOMIC_RELAXED) == self.mine.page;
}

}  // namespace syndrome::rt
