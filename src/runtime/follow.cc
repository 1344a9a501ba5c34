#include "runtime/follow.h"

#include <sys/mman.h>

#include "runtime/filter.h"
#include "runtime/follow_cells.h"
#include "runtime/follow_pages.h"
#include "runtime/follow_quiet.h"
#include "runtime/follower.h"
#include "runtime/in_place_of.h"
#include "runtime/sys.h"

namespace syndrome::rt {

/// The functions that run, as far as the ring has not got them.
void tell_frames(Follower& self) {
  if (self.quiet.count() != 0) tell_held(self);
  Draft& draft = self.draft;
  for (; self.told_depth < self.depth; ++self.told_depth) {
    const Frame& frame = self.frames[self.told_depth];
    if (draft.written == draft.first() + draft.prefix) ++draft.prefix;
    append(wire::control(wire::Control::kEnter, reinterpret_cast<std::uintptr_t>(frame.function),
                         frame.call));
  }
}

/// An event of the thread is in the ring.
void told(Follower& self) {
  self.thread.told();
  self.mine.set(self.thread);
  append(wire::control(wire::Control::kPlace, self.thread.position << 4, self.thread.slot));
  new_segment();
}

namespace {

void begin_block(Follower& self, const unit::Function* function, std::uint32_t flags) {
  tell_frames(self);
  told(self);
  send_first(function);
  if ((flags & unit::kLiveAtomic) != 0 && self.blocks++ == 0 && self.scopes == 0) {
    self.thread.begin_block(true, slots_in_use());
    set_begin(self);
  }
}
void push(Follower& self, const unit::Function* function, std::uint32_t call, std::uint32_t leaf) {
  self.leaf = leaf;
  if (self.depth == Follower::kMaxDepth || self.lost_depth != 0) {
    ++self.lost_depth;
    return;
  }
  const std::uint32_t flags = function->flags & (unit::kLiveBlock | unit::kLiveAtomic);
  self.frames[self.depth++] = {function, 0, call, flags | leaf};
  if ((flags & unit::kLiveBlock) != 0) begin_block(self, function, flags);
}

void tell_exit(Follower& self, const Frame& frame) {
  self.told_depth = self.depth;
  if (self.depth < self.draft.low) self.draft.low = self.depth;
  append(wire::control(wire::Control::kExit, reinterpret_cast<std::uintptr_t>(frame.function), 0));
  if ((frame.flags & unit::kLiveBlock) == 0) return;
  told(self);
  if ((frame.flags & unit::kLiveAtomic) != 0 && --self.blocks == 0 && self.scopes == 0) {
    ++self.draft.blocks;
    self.thread.end_block();
    set_begin(self);
  }
}
void pop(Follower& self) {
  const Frame& frame = self.frames[--self.depth];
  if (self.told_depth > self.depth) tell_exit(self, frame);
  find_leaf(self);
}

/// As trace/capture_walk.h: what is above it has ended with it.
void exit_function(Follower& self, const unit::Function* function) {
  if (self.lost_depth != 0) {
    --self.lost_depth;
    return;
  }
  std::uint32_t at = self.depth;
  while (at > 0 && self.frames[at - 1].function != function) --at;
  if (at == 0) return;
  while (self.depth >= at) pop(self);
}

/// Of several granules, those that the filter does not know.
void follow_wide(Host& host, Access& access, Word address, Word bytes) {
  constexpr Word kMost = 64;
  if (bytes > kMost) return follow_bytes(host, access, address, bytes);
  filter::Table& table = host.self.filter;
  const bool paged = pages_on && !(only_long && is_shared(address) && is_shared(address + bytes));
  bool unknown = false;
  (void)each_need(address, bytes, access.write, [&](Word at, Word needs) {
    Word& entry = table.entry(at);
    const Word key = table.now();
    if (filter::knows(entry, at, key, needs)) return true;
    unknown = true;
    entry = filter::after(entry, at, key, needs);
    const Word mask = (needs >> (access.write ? filter::kWriteShift : filter::kReadShift)) & 0xff;
    if (!paged) follow(host, access, at & ~Word{7}, static_cast<unsigned>(mask));
    return true;
  });
  if (paged && unknown) follow_bytes(host, access, address, bytes);
}

[[gnu::noinline]] void take_access(Follower& self, Word word) {
  const std::uint32_t number = wire::top_of(word) | self.wide;
  self.wide = 0;
  if (self.depth != 0 && self.lost_depth == 0) {
    const Follower::Sites& sites = sites_of_function(self, self.frames[self.depth - 1].function);
    if (number - 1 < sites.count) {
      const unit::Site& site = sites.first[number - 1];
      Access access;
      if (describe(site, access)) {
        access.site = sites.base + number - 1;
        Host host{self, number};
        const Word address = wire::address_of(word);
        if ((address & 7) + site.bytes <= 8) {
          host.word = true;
          if (!keep(self, access, {address, site.bytes})) {
            follow(host, access, address & ~Word{7}, ((1u << site.bytes) - 1u) << (address & 7));
          }
        } else {
          follow_wide(host, access, address, site.bytes);
        }
      }
    }
  }
  if (self.leaf != 0) {
    if (self.lost_depth != 0) {
      self.leaf = 0;
      --self.lost_depth;
    } else if (self.depth != 0) {
      pop(self);
    }
  }
}

[[gnu::noinline]] void take(Follower& self, Word word) {
  if (!wire::is_control(word)) return take_access(self, word);
  const auto* const function = reinterpret_cast<const unit::Function*>(wire::payload_of(word));
  switch (wire::kind_of(word)) {
    case wire::Control::kLeaf:
      push(self, function, wire::top_of(word), Frame::kEndsBehindAccess);
      break;
    case wire::Control::kEnter: push(self, function, wire::top_of(word), 0); break;
    case wire::Control::kExit: exit_function(self, function); break;
    case wire::Control::kWide: self.wide = wire::top_of(word) << 16; break;
    default: break;
  }
}

/// Of words that were written up to `end`, what an interrupted probe may still take back or go on
/// with stays: the enter of a function that is about to end (instrument/abi.h, kExitProbe), and
/// a word that speaks of the next one. What is settled ends with a pad.
[[nodiscard]] Word* before_open_words(Word* end) {
  const auto is_open = [](Word word) {
    if (!wire::is_control(word)) return false;
    const wire::Control kind = wire::kind_of(word);
    return kind == wire::Control::kEnter || kind == wire::Control::kWide;
  };
  while (is_open(end[-1])) --end;
  return end;
}

/// Functions that are no blocks, as long as nobody has been told of them. The first word that is
/// another one.
[[nodiscard]] [[gnu::always_inline]] inline const Word* take_functions(Follower& self,
                                                                       const Word* word,
                                                                       const Word* end) {
  if (self.lost_depth != 0) return word;
  while (word < end && self.leaf == 0 && take_function(self, *word)) ++word;
  return word;
}

/// The same, with accesses that need not be followed.
[[nodiscard]] const Word* pass_over(Follower& self, const Word* word, const Word* end) {
  while (word < end && (self.lost_depth | self.wide | self.leaf) == 0) {
    while (word < end && !wire::is_control(*word)) ++word;
    while (word < end && wire::is_control(*word)) {
      if (!take_function(self, *word)) return word;
      ++word;
      if (self.leaf != 0) break;
    }
  }
  return word;
}

/// What most words are: accesses of the function that runs to cells that follow_quickly() knows
/// what to do with. The first word that is another one.
[[nodiscard]] [[gnu::always_inline]] inline const Word* take_own(Follower& self, const Word* word,
                                                                 const Word* end) {
  if (word == end || wire::is_control(*word)) return word;
  if (self.depth == 0 || (self.lost_depth | self.wide | self.leaf) != 0) return word;
  if (pages_on && !only_long) return take_paged(self, word, end);
  const Follower::Sites& sites = sites_of_function(self, self.frames[self.depth - 1].function);
  Word index = ~Word{0};
  Chunk* chunk = nullptr;
  unsigned again = 0;
  for (; word < end; ++word) {
    if (wire::is_control(*word)) break;
    const std::uint32_t number = wire::top_of(*word) - 1;
    if (number >= sites.count) break;
    const unit::Site& site = sites.first[number];
    const Word address = wire::address_of(*word);
    const Word from = address & 7;
    if (site.kind > unit::SiteKind::kReadWrite || from + site.bytes > 8) break;
    if (address >> kChunkBits != index) {
      index = address >> kChunkBits;
      chunk = __atomic_load_n(&chunks[index], __ATOMIC_ACQUIRE);
      if (chunk == nullptr) break;
    }
    const bool write = site.kind != unit::SiteKind::kRead;
    Word& page = page_of(*chunk, address);
    if (pages::tag_of(__atomic_load_n(&page, __ATOMIC_ACQUIRE)) != pages::kShared && pages_on) {
      Access access;
      access.write = write;
      access.site = sites.base + number;
      if (keep_slowly(self, page, access, {address, site.bytes})) continue;
    }
    const Word bytes = ((Word{1} << site.bytes) - 1) << from;
    if (!follow_quickly(self.mine, *chunk, address, bytes, write, sites.base + number, again)) {
      break;
    }
  }
  filter_lost(self, again);
  return word;
}

/// Of accesses at regular distances, how many follow_quickly() knew what to do with.
template <bool kWrite>
[[nodiscard]] [[gnu::noinline]] std::uint64_t follow_strides(const Mine& mine, Word address,
                                                             std::int64_t stride,
                                                             std::uint64_t count, Word mask,
                                                             std::uint32_t site) {
  unsigned again = 0;
  for (std::uint64_t k = 0; k < count; ++k, address += static_cast<std::uint64_t>(stride)) {
    const Word at = address & wire::kAddressMask;
    Chunk* const chunk = __atomic_load_n(&chunks[at >> kChunkBits], __ATOMIC_ACQUIRE);
    if (chunk == nullptr ||
        !follow_quickly_as<kWrite>(mine, *chunk, at, mask << (at & 7), site, again)) {
      return k;
    }
  }
  return count;
}

/// Whether the thread has gone through the same loop, with nothing changed since; if not, it does
/// so now. Shorter loops are gone through faster than the table is looked at.
constexpr std::uint64_t kLongRun = 8;
[[nodiscard]] bool knows_run(Follower& self, Word address, std::uint64_t count,
                             std::uint32_t site) {
  constexpr unsigned kShift = 64 - Follower::kKnownRunBits;
  KnownRun& known = self.runs[((address ^ (Word{site} << 48)) * 0x9E3779B97F4A7C15u) >> kShift];
  const KnownRun now{address, count, site, self.renewals, self.filter.now()};
  if (known == now) return true;
  known = now;
  return false;
}

/// What a thread did before need not be settled in a block, where the order of its accesses changes
/// nothing.
[[nodiscard]] bool may_keep_unsettled(const Follower& self, const SyndromeRun& run) {
  return tls.busy == 0 && self.thread.begin != 0 && (run.flags & SyndromeRun::kNamed) != 0;
}

/// A few rounds, which mostly lie in pages of the thread's own. False: it is another case.
[[nodiscard]] bool follow_short_run(const SyndromeRun& run, const void* const* first,
                                    std::uint64_t rounds, std::uint32_t rest) {
  Follower& self = *tls.follower;
  if (!may_keep_unsettled(self, run)) return false;
  ++tls.busy;
  const bool kept = !is_over() && keep_short_run(self, run, first, rounds, rest);
  --tls.busy;
  return kept;
}

}  // namespace

bool make_followers() {
  reset_order();
  reset_units();
  last_settler.store(0, std::memory_order_relaxed);
  all_settled.store(false, std::memory_order_relaxed);
  make_pages();
  return make_shadow();
}

bool start_following(std::uint32_t slot) {
  Follower* const self = begin_order(slot);
  if (self == nullptr) {
    never_alone();
    return false;
  }
  self->units = 0;
  self->handlers = self->depth = self->told_depth = self->lost_depth = 0;
  self->settled = 0;
  self->load_settled = ~0u;
  self->again = false;
  self->blocks = self->scopes = self->wide = self->leaf = self->round = 0;
  self->cell = nullptr;
  self->clock = nullptr;
  tls.keeps_key = false;
  const sieve::Checked what = process.session->checked;
  self->thread.only_atomicity = what == sieve::Checked::kAtomicity;
  self->locks = what != sieve::Checked::kDeterminism;
  self->quiet_on = what == sieve::Checked::kRaces;
  self->quiet_memory = what != sieve::Checked::kDeterminism;
  self->quiet.clear();
  self->unheard_count = self->heard = 0;
  for (sieve::Section& section : self->sections) section.released = 0;
  self->mine.set(self->thread);
  self->mine.asked = &self->asked;
  self->mine.past = past_of(slot) << sieve::kPositionShift;
  self->mine.clear = clear_of(slot) << sieve::kPositionShift;
  begin_log(*self);
  self->its_thread = &tls;
  self->its_window = &__syndrome_thread;
  self->now = {};
  self->done = self->lines[0].words;
  // Behind the time that the line begins with.
  tls.words[1] = wire::control(wire::Control::kPlace, self->thread.position << 4, slot);
  tls.exact = tls.words + 2;
  tls.follower = self;
  // From here on others may write into its ring.
  begin_draft(*self);
  __syndrome_thread.cursor = self->lines[0].words;
  return true;
}

void stop_following() {
  if (tls.follower == nullptr) return;
  end_log(*tls.follower);
  end_order(*tls.follower);
  tls.draft = nullptr;
  tls.follower = nullptr;
}

void settle() {
  Follower* const self = tls.follower;
  if (self == nullptr || tls.busy != 0 || !become_busy()) return;
  ++self->settled;
  Word* const end = __syndrome_thread.cursor;
  const Word* word = self->done;
  const Word* const began = word;
  // Nobody comes or goes within a line, but blocks begin there.
  const bool alone = is_alone(*self);
  // What is passed over must not be known.
  if (alone) self->filter.begin_segment();
  // Recording may have ended.
  while (tls.follower != nullptr && word < end) {
    const bool passes =
        __builtin_expect(static_cast<long>(alone), 0) != 0 && self->thread.begin == 0;
    const Word* next = passes ? pass_over(*self, word, end) : take_own(*self, word, end);
    next = take_functions(*self, next, end);
    if (next != word) {
      word = next;
    } else {
      take(*self, *word++);
    }
  }
  self->done = end;
  // Nobody takes back what is done.
  if (began < end) end[-1] = wire::control(wire::Control::kPad, 0, 0);
  --tls.busy;
}

/// For a thread that may be in the middle of a probe.
void settle_interrupted() {
  Word*& cursor = __syndrome_thread.cursor;
  Word* const end = cursor;
  cursor = before_open_words(end);
  settle();
  cursor = end;
}

bool is_on_line() {
  const Follower& self = *tls.follower;
  const Word* const line = self.lines[self.handlers].words;
  const Word* const cursor = __syndrome_thread.cursor;
  return tls.busy == 0 && cursor > line && cursor <= line + wire::kLineWords;
}

void settle_line() {
  settle();
  Follower* const self = tls.follower;
  if (self == nullptr) return;
  self->done = __syndrome_thread.cursor = self->lines[self->handlers].words;
  // Who is alone asks nobody what is known, nor who has its pages for itself.
  const bool asks = wants_filter(*self) && !is_alone(*self);
  if (asks == (__syndrome_thread.filter != nullptr)) return;
  if (!asks) {
    __syndrome_thread.filter = nullptr;
  } else {
    start_filter();
  }
}

void settle_atomic() {
  Follower* const self = tls.follower;
  if (self == nullptr) return;
  self->again = self->settled == self->load_settled;
  const Word* const end = __syndrome_thread.cursor;
  for (const Word* word = self->done; word < end && self->again; ++word) {
    self->again = wire::is_control(*word);
  }
  settle_line();
}

bool loads_again() {
  const Follower& self = *tls.follower;
  return self.again && self.thread.position == self.load_position;
}

void loaded() {
  Follower& self = *tls.follower;
  self.load_settled = self.settled;
  self.load_position = self.thread.position;
}

void settle_others() {
  if (is_on_line()) settle();
  (void)settle_in_place(slots_in_use, follower_of, tls.follower, settle_interrupted);
}

void follow_range(const void* address, std::size_t length, bool write, std::uint32_t site,
                  bool site_is_call) {
  const Step step;
  if (step.is_over()) return;
  settle();
  Follower* const self = tls.follower;
  if (self == nullptr || is_alone(*self)) return;
  ++tls.busy;
  Access access;
  access.write = write;
  if (self->depth != 0 && self->lost_depth == 0) {
    const Follower::Sites& sites = sites_of_function(*self, self->frames[self->depth - 1].function);
    if (site - 1 < sites.count) access.site = sites.base + site - 1;
  }
  Host host{*self, site, false, site_is_call};
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (length <= wire::kAddressMask && begin <= wire::kAddressMask - length) {
    follow_bytes(host, access, begin, length);
  }
  --tls.busy;
}

void follow_word(wire::Word word) {
  const Step step;
  if (step.is_over()) return;
  settle();
  Follower* const self = tls.follower;
  if (self == nullptr) return;
  ++tls.busy;
  take(*self, word);
  --tls.busy;
}

namespace {

void follow_long_run(const SyndromeRun& run, const void* const* first, std::uint64_t rounds,
                     std::uint32_t rest) {
  const Step whole;
  if (whole.is_over()) return;
  settle();
  Follower* const self = tls.follower;
  if (self == nullptr || self->depth == 0 || self->lost_depth != 0 || is_alone(*self)) return;
  ++tls.busy;
  const Follower::Sites& sites = sites_of_function(*self, self->frames[self->depth - 1].function);
  for (std::uint32_t i = 0; i < run.sites && tls.follower != nullptr; ++i) {
    const std::uint32_t number = wire::top_of(run.tops[i]);
    if (number - 1 >= sites.count || (run.flags & (SyndromeRun::kCovered << i)) != 0) continue;
    const unit::Site& site = sites.first[number - 1];
    Access access;
    if (!describe(site, access)) continue;
    access.site = sites.base + number - 1;
    const std::int64_t stride = wire::stride_of(run.strides[i / wire::kStridesInWord], i);
    const std::uint64_t count = rounds + (i < rest ? 1 : 0);
    Host host{*self, number};
    Word address = reinterpret_cast<std::uintptr_t>(first[i]);
    if (count >= kLongRun && knows_run(*self, address, count, access.site)) continue;
    const auto step = static_cast<std::uint64_t>(stride < 0 ? -stride : stride);
    if (count != 0 && step <= site.bytes) {
      // One after another: as one piece, so that a granule is looked at once.
      const Word length = (count - 1) * step + site.bytes;
      if (stride < 0) address -= (count - 1) * step;
      follow_bytes(host, access, address, length);
      continue;
    }
    const unsigned bytes = site.bytes;
    const bool aligned =
        bytes <= 8 && ((address | step) & (bytes - 1)) == 0 && (bytes & (bytes - 1)) == 0;
    if (aligned) {
      host.word = true;
      const unsigned mask = (1u << bytes) - 1u;
      for (std::uint64_t rest_of = count; rest_of != 0;) {
        const Strides these = keep_strides(*self, access, address, stride, rest_of, bytes);
        rest_of -= these.count;
        if (these.kept) address += these.count * static_cast<std::uint64_t>(stride);
        for (std::uint64_t left = these.kept ? 0 : these.count; left != 0;) {
          const std::uint64_t done =
              access.write
                  ? follow_strides<true>(self->mine, address, stride, left, mask, access.site)
                  : follow_strides<false>(self->mine, address, stride, left, mask, access.site);
          left -= done;
          address += done * static_cast<std::uint64_t>(stride);
          if (left == 0) break;
          follow(host, access, address & wire::kAddressMask & ~Word{7}, mask << (address & 7));
          --left;
          address += static_cast<std::uint64_t>(stride);
        }
      }
      continue;
    }
    for (std::uint64_t k = 0; k < count; ++k, address += static_cast<std::uint64_t>(stride)) {
      follow_bytes(host, access, address & wire::kAddressMask, bytes);
    }
  }
  --tls.busy;
}

}  // namespace

void follow_run(const SyndromeRun& run, const void* const* first, std::uint64_t rounds,
                std::uint32_t rest) {
  if (rounds < kLongRun - 1 && follow_short_run(run, first, rounds, rest)) return;
  follow_long_run(run, first, rounds, rest);
}

void follow_stretch(const SyndromeRun& run, const void* first, std::uint64_t rounds) {
  // Searches are seldom done again: no look whether this one is known, which mostly is not in the
  // cache.
  if (!follow_short_run(run, &first, rounds, 0)) follow_long_run(run, &first, rounds, 0);
}

void follow_spots(const SyndromeRun& run, const void* first, std::uint64_t bits) {
  Follower& self = *tls.follower;
  if (may_keep_unsettled(self, run)) {
    ++tls.busy;
    const bool kept = !is_over() && keep_spots(self, run, first, bits);
    --tls.busy;
    if (kept) return;
  }
  each_stretch(run, first, bits, [&](std::uintptr_t from, std::uint64_t rounds) {
    const void* const address = reinterpret_cast<const void*>(from);
    if (following()) follow_run(run, &address, rounds, 0);
  });
}

bool follow_locals(const void* address, std::size_t bytes) {
  const Step step;
  if (step.is_over()) return false;
  settle();
  Follower* const self = tls.follower;
  if (self == nullptr) return true;
  ++tls.busy;
  const bool told = renew(*self, reinterpret_cast<std::uintptr_t>(address), bytes);
  --tls.busy;
  if (told) {
    keep_draft();
    come_behind_all();
  }
  return told || !self->quiet_memory;
}

void follow_frame(std::uint64_t mark) {
  const Step step;
  if (step.is_over()) return;
  settle();
  Follower* const self = tls.follower;
  if (self == nullptr || self->depth == 0 || self->lost_depth != 0) return;
  tell_frames(*self);
  keep_draft();
  self->frames[self->depth - 1].mark = mark;
}

void follow_resume(std::uint64_t mark) {
  const Step step;
  if (step.is_over()) return;
  settle();
  Follower* const self = tls.follower;
  if (self == nullptr) return;
  self->leaf = self->wide = self->lost_depth = 0;
  keep_draft();
  std::uint32_t at = self->depth;
  while (at > 0 && self->frames[at - 1].mark != mark) --at;
  while (at > 0 && self->depth > at) pop(*self);
}

bool enter_handler() {
  Follower& self = *tls.follower;
  if (self.handlers == Follower::kMaxHandlers) return false;
  settle_interrupted();
  if (tls.follower == nullptr) return false;
  self.wides[self.handlers++] = self.wide;
  self.wide = 0;
  self.again = false;
  self.done = __syndrome_thread.cursor = self.lines[self.handlers].words;
  return true;
}

void leave_handler(wire::Word* cursor) {
  settle();
  Follower* const self = tls.follower;
  if (self == nullptr) return;
  if (self->handlers != 0) self->wide = self->wides[--self->handlers];
  self->again = false;
  // What was there has been settled, but for a word that may be taken back.
  __syndrome_thread.cursor = cursor;
  self->done = before_open_words(cursor);
}

void drop_handlers() {
  Follower& self = *tls.follower;
  self.handlers = 0;
  if (self.cell != nullptr) unlock_cell(*self.cell);
  if (self.clock != nullptr && self.clock->lock.load(std::memory_order_relaxed) == tls.tid) {
    unlock_clock(*self.clock);
  }
  self.cell = nullptr;
  self.clock = nullptr;
  drop_draft_locks(self);
  // A part of a record may be in the ring, and have been read: what follows begins behind it.
  if (tls.state == ThreadState::kOn && tls.exact != nullptr) (void)next_line(true);
  start_filter();
  self.done = __syndrome_thread.cursor = self.lines[0].words;
}

}  // namespace syndrome::rt
