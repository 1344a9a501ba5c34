// What a thread tells when nothing but atomicity is checked, until somebody has to read it.
//
// Its words go into a *draft*, not into its ring. At a *clean point* (no block is open, no lock is
// held) all that it told since the last one may be clear (sieve::Clear): in no cycle, whatever
// comes. Then it is thrown away, and nobody ever reads it. What is not stays, and may be thrown
// away at a later clean point. Whoever runs out of room, or tells of something else than locks and
// blocks, sends the drafts of all threads: the words go into the rings as if they had been written
// there.
//
// Why that is right. A transaction that is clear is in no cycle. An edge between two that are not
// is told by both of their threads, or is implied by a path; had that led through one that is
// clear, what is before it would be clear as well. So the graph of what is sent has the cycles of
// the graph of everything. Those that are in a cycle never become clear by themselves; but once all
// that has been told is sent, what is past of it is: it is over, and so is all that came before it,
// so that nothing leads there any more, and what is in a cycle with it is in the trace. What is
// thrown away lies between two clean points, so that what is sent has each release with its
// acquire, and each end with its begin.
//
// Locks are ordered by positions here: a taking comes behind the releases of the others that have
// been at the lock, and what those were behind (SyncClock::order), each named by a word of its own
// (wire::Control::kBehind). Versions count up by one, and would have gaps. Where something was
// thrown away, a word says to which position it came, since others may be behind that, and then
// words say what it was behind, for what follows. In this order, nothing waits for what comes after
// it: the first word waits for nothing, and everything else for what was there before it.
//
// Accesses that are clear when they are sent are left out: in cells, what is clear is forgotten,
// unless it is in the trace (Cell::kStirred, set before an access is sent). Otherwise one of later
// could come to lie before it.
//
// A thread *leaves* its draft for good, and writes into its ring from then on, when nothing says
// what comes before an access of it but the time (an access to a granule that too many have been
// at), when there are more slots than positions are kept of, and when it has to send often. Its
// locks have versions then. Who takes a lock behind it finds its position, as anybody's; it itself
// sends the drafts of those that it comes behind.
//
// State, and who may touch it:
//   written               its thread; others look
//   sent, sent_place,
//   unclear               who holds the draft's lock; others look
//   words                 its thread, behind `written`; who holds the lock, before it
//   the rest              its thread
// All drafts are sent under one lock, which is taken before theirs. Its thread's ring is written to
// by whoever sends.

#pragma once

#include <atomic>
#include <cstdint>

#include "event/known.h"
#include "event/unit.h"
#include "event/wire.h"

namespace syndrome::rt {

struct Follower;
struct SyncClock;

struct Draft {
  /// 4 MiB, if no more than 8 threads share what all of them have together. A block with a lock is
  /// some 15 words; while a thread has lost its core within one that others came behind, nothing of
  /// theirs is clear, for some milliseconds: tens of thousands of blocks on a busy machine.
  static constexpr wire::Word kWords = 1u << 19;
  static constexpr wire::Word kAll = 8 * kWords;
  /// For what is told while the thread has the lock of a cell: 32 entries, and 16 records of 5
  /// words for each. It must not wait for others then, who may want the same cell.
  static constexpr wire::Word kSpare = 3072;

  [[nodiscard]] wire::Word first() const { return from + slots + 1; }  // of the functions

  std::atomic<std::uint32_t> lock;  // the tid of who has it; 0: nobody
  wire::Word written;               // words of whole records
  wire::Word sent;                  // of them, those that are in the ring
  wire::Word sent_place;            // the last position in the ring
  /// As many transactions as there is room for in `words`.
  sieve::Unclear<(1u << 18)> unclear;  // likewise under the lock
  // Since the last clean point, words from here on: its position; for each slot, what is behind it
  // of what was thrown away, or a pad; …
  wire::Word from;
  std::uint32_t slots;
  wire::Word prefix;    // … so many beginnings of functions, and then the rest
  std::uint32_t base;   // functions that had been told of then
  std::uint32_t low;    // the fewest that ran since
  bool clean;           // there was one, and nothing that has to be sent since
  std::uint32_t locks;  // that are held
  bool leaves;          // when it holds no cell any more
  bool waits;           // likewise: for drafts of others to be sent
  std::uint32_t sends;  // by its thread
  std::uint32_t throws;
  std::uint32_t held_back;  // how often others kept what it did from being clear
  wire::Word blocks;        // that have ended since
  /// Of each slot: the position that some record so far is behind. Others look.
  sieve::Known behind;
  sieve::Known behind_before;  // the same of records before `from`
  wire::Word words[kWords];

  /// Whether no record says so yet.
  [[nodiscard]] bool comes_behind(std::uint32_t slot, wire::Word position) {
    if (slot >= sieve::kKnown || behind.at[slot] >= position) return false;
    __atomic_store_n(&behind.at[slot], position, __ATOMIC_RELAXED);
    return true;
  }
};

/// For a thread that begins to follow.
void begin_draft(Follower& self);
/// Nothing is held any more: sends what was wanted meanwhile.
void settle_draft(Follower& self);
/// Its thread writes into its ring from here on.
void leave_draft(Follower& self);
/// What has been told since the last clean point has to be sent.
void keep_draft();
/// For a function that is a block, and begins, or for the label of one: its first run is sent, so
/// that the trace has the name of every block that ran.
void send_first(const unit::Function* function);
void send_first(wire::Word label);
/// Where no block is open, and all that came before is known.
void pass_draft(Follower& self);
/// What follows comes behind this position of the slot, and all that its thread is behind: that
/// which was there may have been thrown away.
void come_behind(Follower& self, std::uint32_t slot, wire::Word position);
/// The same of a lock that the thread takes, by what lies at it.
void come_behind(Follower& self, const SyncClock& clock);
/// What follows comes behind all that any thread has told so far. Memory that is another variable
/// from here on: what was told of the one before may be in any draft.
void come_behind_all();
/// Before a cell is locked.
void make_draft_room();
/// Sends what all threads have written.
void send_drafts();
/// The same, when the process ends or has just been forked: who has a lock may never give it back.
void send_last_drafts();
void forget_drafts();
/// A handler was left by longjmp: the locks that the thread had.
void drop_draft_locks(Follower& self);

}  // namespace syndrome::rt
