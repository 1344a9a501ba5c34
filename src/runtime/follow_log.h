// A thread's log of what it did to pages of its own, as follow_log.cc writes it and follow_pages.cc
// takes it apart; follow_pages.h has who may touch what. Internal.

#pragma once

#include "runtime/follow_pages.h"

namespace syndrome::rt {

inline constexpr Word kPageBytes = Word{1} << pages::kShift;
inline constexpr Word kNoItem = ~Word{0};

/// For an access that is the item of that number in the log, or none. Whether it need not go to
/// cells: the page is the thread's own, or who opened it has taken the item from there.
[[nodiscard]] bool claim(Follower& self, Word& page, Word address, Word item);

/// More could be kept when more than atomicity is checked, too; but a log that is looked through
/// for each page that is opened should be short.
[[nodiscard]] inline Word most_items() {
  return only_long ? Log::kItems / 32 : Log::kItems;
}

/// What is over goes, and if that is not enough, all of it goes to cells.
void empty_log(Follower& self);
/// Room for items of one line, and for their position; false: the thread does without a log.
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
/// What comes behind it in the program's text is done behind it, but for what only membarrier()
/// sees.
inline void in_order() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace syndrome::rt
