// Pages of memory that one thread has for itself. Like sieve.h, compiled into other people's
// programs.
//
// Most of what a thread does is *over* before anyone else comes to where it was: past
// (sieve::Past), when nothing but atomicity is checked, and otherwise known to all
// (sieve::Horizon). So a thread keeps its accesses to pages that are its own in a log, which it
// throws away when they are over; but for atomicity alone, only where they are many at a time: a
// loop's, or a long copy's. Who comes to a page whose owner's accesses are not over *opens* it:
// puts what the owner's log has of it into cells, where it would have been without all this. From
// then on everyone's accesses go to the cells, until all of the page is another variable.
//
// The owner first writes to its log and then looks at the page's word; who opens a page first
// writes the word and then reads the log (with a membarrier in between): so one of the two sees the
// other. The entries of a log are counted for good, and the word of an open page says which of the
// owner's are in cells: its owner, who had just written one, knows whether that is there.
//
// A page's word:
//   number:52 slot:10 tag:2      all 0: nobody has been there
// number: of kOwned and kOpening, the owner's position when it came there last; when nothing but
// atomicity is checked, the one since which its accesses counted as one then
// (sieve::Thread::since): if that is over, all that it did there is. Of kShared: how many entries
// of the slot's log had been there when the page was opened.

#pragma once

#include <cstdint>

#include "event/sieve.h"

namespace syndrome::pages {

using sieve::Word;

inline constexpr unsigned kShift = 12;  // of the address of a page

enum Tag : Word {
  kNobody = 0,
  kOwned = 1,    // what the owner did there is in its log, in cells, or over; all else is over
  kOpening = 2,  // someone is at it
  kShared = 3,   // everything is in cells
};

[[nodiscard]] constexpr Word word_of(Tag tag, std::uint32_t slot, Word number) {
  return (number << 12) | (Word{slot} << 2) | tag;
}
[[nodiscard]] constexpr Tag tag_of(Word page) {
  return static_cast<Tag>(page & 3);
}
[[nodiscard]] constexpr std::uint32_t slot_of(Word page) {
  return static_cast<std::uint32_t>(page >> 2) & (sieve::kSlots - 1);
}
[[nodiscard]] constexpr Word number_of(Word page) {
  return page >> 12;
}
/// The word of a page that a thread has come to.
[[nodiscard]] constexpr Word own(const sieve::Thread& thread) {
  return word_of(kOwned, thread.slot, thread.only_atomicity ? thread.since : thread.position);
}
/// Whether the page is the thread's own, and what it did there is not over: what it does there next
/// has to come behind that, into its log. `over` is what is over of the thread's slot.
[[nodiscard]] constexpr bool is_logged(Word page, const sieve::Thread& thread, Word over) {
  return tag_of(page) == kOwned && slot_of(page) == thread.slot &&
         number_of(page) >= thread.first && number_of(page) >= over;
}

/// What a thread that comes to a page has to do.
enum class Next : std::uint8_t {
  kNothing,  // it is its own
  kTake,     // to make it its own
  kOpen,
  kWait,   // until it is open
  kCells,  // to go there
};
/// `over` is what is over of the page's slot.
[[nodiscard]] constexpr Next next(Word page, const sieve::Thread& thread, Word over) {
  switch (tag_of(page)) {
    case kNobody: return Next::kTake;
    case kOpening: return Next::kWait;
    case kShared: return Next::kCells;
    case kOwned: break;
  }
  if (page == own(thread)) return Next::kNothing;
  const bool mine = slot_of(page) == thread.slot && number_of(page) >= thread.first;
  return mine || number_of(page) < over ? Next::kTake : Next::kOpen;
}

}  // namespace syndrome::pages
