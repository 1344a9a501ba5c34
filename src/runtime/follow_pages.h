// Pages that one thread has for itself (event/pages.h), and its log of what it did there.
//
// State, and who may touch it:
//   a page's word (Chunk::pages)     anyone, by compare and exchange; while it is kOpening, who
//   made
//                                    it that
//   Log::items, end, base            its thread writes; who opens one of its pages reads
//   (install()) Log::opened                      who opens, and its thread what else is in a Log
//   its thread
// The owner writes an item, counts it and then looks at the page's word; who opens the page writes
// the word, makes every thread of the process pass a barrier (membarrier) and then reads end and
// items. Items are not written over before base says that they are gone, and those were over.

#pragma once

#include "event/pages.h"
#include "runtime/follow_cells.h"
#include "runtime/probes.h"

namespace syndrome::rt {

/// Whether pages are anyone's at all: the system can do what opening needs.
extern bool pages_on;
/// Only what loops and long copies do makes a page one's own: more than atomicity is checked.
extern bool only_long;
/// What the slot did at positions below matters to nobody any more (event/pages.h).
[[nodiscard]] inline Word over_of(std::uint32_t slot) {
  return only_long ? Host::horizon(slot) : past_of(slot);
}
void make_pages();

[[nodiscard]] inline Word& page_of(Chunk& chunk, Word address) {
  return chunk.pages[(address >> pages::kShift) % kChunkPages];
}

/// Whether everyone's accesses there go to cells.
[[nodiscard]] inline bool is_shared(Word address) {
  Chunk* const chunk = __atomic_load_n(&chunks[address >> kChunkBits], __ATOMIC_ACQUIRE);
  return chunk != nullptr && pages::tag_of(__atomic_load_n(&page_of(*chunk, address),
                                                           __ATOMIC_ACQUIRE)) == pages::kShared;
}

/// For a thread that begins, and for one that ends: its slot may be another one's next.
void begin_log(Follower& self);
void end_log(Follower& self);

/// Behind what has raised what is past.
inline void passed(Follower& self) {
  Log& log = self.log;
  const Word over = over_of(self.thread.slot);
  if (log.count() != 0 && log.position < over) log.empty();
  // Long blocks mostly follow each other: so many lines without, and then it is tried again.
  constexpr std::uint32_t kLinesWithout = 4096;
  if (log.flushed && over >= self.thread.limit() && (!log.direct || log.lines > kLinesWithout)) {
    log.flushed = log.direct = false;
    log.sample.begin();
  }
}

/// Accesses of the function that runs, as follow_quickly() or a log takes them. The first word that
/// is another one.
[[nodiscard]] const Word* take_paged(Follower& self, const Word* word, const Word* end);

/// Bytes of one page, or accesses to them of `each` bytes at distances of `step`.
struct Stretch {
  Word address;
  Word length;
  Word step = 0;
  Word each = 0;
};
/// An access. True: it is in the log. False: it is one for cells, where the page allows it from
/// here on.
[[nodiscard]] bool keep_slowly(Follower& self, Word& page, const Access& access,
                               const Stretch& stretch);
[[nodiscard]] inline bool keep(Follower& self, const Access& access, const Stretch& stretch) {
  const Word address = stretch.address;
  if (!pages_on || cell_at(address) == nullptr) return false;
  Word& page = page_of(*chunks[address >> kChunkBits], address);
  const Word now = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
  if (pages::tag_of(now) == pages::kShared) return false;
  if (self.log.direct && now == self.mine.page) return false;
  return keep_slowly(self, page, access, stretch);
}
/// Of accesses of `each` aligned bytes, how many are kept, and how many go to cells then: those of
/// the page that the first one lies in.
struct Strides {
  std::uint64_t count;
  bool kept;
};
[[nodiscard]] Strides keep_strides(Follower& self, const Access& access, Word address,
                                   std::int64_t stride, std::uint64_t count, Word each);

/// A few accesses of each site of a loop, one next to another, of the function that runs: whether
/// they are in the log, because they lie in pages of the thread's own. Some may be there if not.
[[nodiscard]] bool keep_short_run(Follower& self, const SyndromeRun& run, const void* const* first,
                                  std::uint64_t rounds, std::uint32_t rest);

/// The same of spots.
[[nodiscard]] bool keep_spots(Follower& self, const SyndromeRun& run, const void* first,
                              std::uint64_t bits);

/// Before an atomic: the page is for cells.
void share(Follower& self, Word address);

/// Bytes of one page are another variable from here on; its cells are the caller's. And behind
/// that, when it was all of the page.
void renew_page(Follower& self, Word& page, Word address, Word length);
void renewed_page(Word& page);

/// The log of the thread is not worth it until what it has done is past.
void go_direct(Follower& self);

/// Whether the thread asks the filter for what is known. To be called at the end of each line.
[[nodiscard]] inline bool wants_filter(Follower& self) {
  if (!pages_on || only_long || self.log.off) return true;
  constexpr std::uint32_t kLinesToDecide = 8;
  constexpr std::uint32_t kLinesBetween = 1024;
  Sample& sample = self.log.sample;
  ++sample.lines;
  ++self.log.lines;
  if (sample.now) {
    if (sample.lines < kLinesToDecide) return false;
    sample.decide(self.log.flushed);
    if (sample.asks && self.log.flushed) go_direct(self);
    sample.now = false;
    sample.lines = 0;
  } else if (sample.lines == kLinesBetween) {
    sample.begin();
    return false;
  }
  return sample.asks;
}

}  // namespace syndrome::rt
