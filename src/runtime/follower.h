// What a thread that follows its own accesses (follow.h) keeps, and what the files of that share.
// Internal.

#pragma once

#include <atomic>
#include <cstdint>

#include "event/byte_sites.h"
#include "event/filter.h"
#include "event/pages.h"
#include "event/quiet.h"
#include "event/sieve.h"
#include "event/unit.h"
#include "event/wire.h"
#include "runtime/draft.h"
#include "runtime/shadow.h"
#include "runtime/thread.h"

namespace syndrome::rt {

using sieve::Access;
using sieve::Cell;
using sieve::Entry;
using wire::Word;

/// A function that runs.
struct Frame {
  const unit::Function* function;
  std::uint64_t mark;  // of its setjmp
  std::uint32_t call;
  std::uint32_t flags;  // unit::kLiveBlock, unit::kLiveAtomic, kEndsBehindAccess

  /// It ends behind its next access (wire::Control::kLeaf). A signal handler may come before.
  static constexpr std::uint32_t kEndsBehindAccess = 1u << 31;
};

/// What an access of the thread is compared with, in its place in an entry.
struct Mine {
  static constexpr Word kWho = (Word{sieve::kSlots - 1} << 16) | Entry::kAtomic | Entry::kLock;
  Word who;
  Word first;
  Word since;
  Word fresh;
  Word past;   // what is before is past (sieve::Past) …
  Word clear;  // … and clear
  const sieve::Thread* thread;
  sieve::ByteSitesCache* asked;  // of byte_sites
  Word page;                     // the word of a page that the thread has come to (event/pages.h)

  void set(const sieve::Thread& its) {
    thread = &its;
    who = Entry::of(its.slot, 0).bits;
    first = its.first << sieve::kPositionShift;
    since = its.since << sieve::kPositionShift;
    fresh = Entry::of(its.slot, its.position).bits;
    page = pages::own(its);
  }
};

/// What a thread did to bytes of one page, in its log (follow_pages.h).
struct LogItem {
  enum Kind : Word {
    kRead = 0,
    kWrite = 1,
    kRenew = 2,  // they are another variable from here on
    kPlace = 3,  // what follows is at this position
  };
  /// Accesses of `each` bytes, at distances of `step`, over that length; step 0: it is one access,
  /// or several that follow each other, and with kDown likewise, up to this byte.
  Word where;  // kind:2 step:15 address:47
  Word what;   // each:16 length:16 site:32, or the position

  static constexpr Word kDown = (Word{1} << 15) - 1;
  static constexpr Word kMostStep = kDown - 1;
  [[nodiscard]] static constexpr Word place(Kind kind, Word address, Word step = 0) {
    return (Word{kind} << 62) | (step << wire::kAddressBits) | address;
  }
  [[nodiscard]] static constexpr Word access(std::uint32_t site, Word length, Word each = 0) {
    return (each << 48) | (length << 32) | site;
  }
  [[nodiscard]] Kind kind() const { return static_cast<Kind>(where >> 62); }
  [[nodiscard]] Word address() const { return where & wire::kAddressMask; }
  [[nodiscard]] Word step() const { return (where >> wire::kAddressBits) & kDown; }
  /// The lowest byte.
  [[nodiscard]] Word first() const {
    return step() == kDown ? address() + 1 - length() : address();
  }
  [[nodiscard]] Word length() const { return (what >> 32) & 0xffff; }
  [[nodiscard]] Word each() const { return what >> 48; }
  [[nodiscard]] std::uint32_t site() const { return static_cast<std::uint32_t>(what); }
};
/// Whether a thread asks the filter before it writes a word: decided now and then by what it does
/// for some lines without asking.
struct Sample {
  static constexpr std::uint32_t kRecent = 256;
  bool asks;
  bool now;             // it is being found out
  std::uint32_t lines;  // since it changed
  // While it is found out, how many accesses were
  std::uint32_t kept;       // items of the log
  std::uint32_t passed_on;  // none: they went to cells
  std::uint32_t again;      // among both, what the filter would have known
  Word recent[kRecent];

  void begin() {
    *this = {};
    now = true;
  }
  void see(Word address, bool write, Word since) {
    const Word what = (address & ~Word{7}) ^ (since << 50) ^ since;
    Word& known = recent[(address >> 3) % kRecent];
    if (known == what || known == (what | 1)) {
      if (write && known == what) {
        known |= 1;
      } else {
        ++again;
      }
      return;
    }
    known = what | (write ? 1 : 0);
  }
  /// `flushed`: the items go to cells later.
  void decide(bool flushed) {
    // In nanoseconds, as measured: an access that the filter knows, one that it does not, what an
    // item and a cell cost behind that, and to leave a trace in the filter without asking it.
    constexpr std::uint64_t kKnown = 2;
    constexpr std::uint64_t kUnknown = 6;
    const std::uint64_t item = flushed ? 8 : 4;
    constexpr std::uint64_t kCell = 12;
    constexpr std::uint64_t kTouch = 4;
    const std::uint64_t all = kept + passed_on;
    if (all == 0) return;
    const std::uint64_t follow = item * kept + kCell * passed_on;
    const std::uint64_t unknown = all - again;
    const std::uint64_t asking = kKnown * again + kUnknown * unknown + follow * unknown / all;
    asks = asking < follow + kTouch * passed_on;
  }
};
/// The last item of a site; of several sites, of one of them. It grows by what lies next to it.
struct Recent {
  static constexpr std::uint32_t kSites = 16;
  Word number;  // of the item
  Word up;      // the word of an access behind it, in its page; 0: it does not grow that way
  Word down;    // and of one before it
  const Word* page;
  std::uint32_t base;   // of its function's sites
  std::uint32_t bytes;  // of an access
};
struct Log {
  static constexpr Word kItems = 262144;  // 4 MiB; a power of two: they go round
  Word base;                              // how many items were thrown away
  Word end;                               // how many there ever were
  Word position;                          // of the last of them; 0: there is none
  Word closed;                            // items up to this one grow no more
  Recent recent[Recent::kSites];
  std::uint32_t opened;  // of its pages, by others
  bool off;              // the thread cannot have one
  bool flushed;          // it was too short for what is not past
  bool direct;           // and so what follows goes to cells; it is empty
  std::uint32_t lines;   // since it was flushed
  Sample sample;
  LogItem items[kItems];

  [[nodiscard]] Word count() const { return end - base; }
  /// By the number that it has for good.
  [[nodiscard]] LogItem& item(Word number) { return items[number % kItems]; }
  [[nodiscard]] const LogItem& item(Word number) const { return items[number % kItems]; }
  /// What was there is over, or in cells.
  void empty() {
    __atomic_store_n(&base, end, __ATOMIC_RELEASE);
    position = 0;
  }
  /// The last one was not for here: it stays, of no bytes, since somebody may have counted it.
  void take_back() { __atomic_store_n(&item(end - 1).what, 0, __ATOMIC_RELEASE); }
};

/// What a loop accessed at one site, in the block that is open.
struct KnownRun {
  Word address;
  std::uint64_t count;
  std::uint32_t site;
  std::uint32_t renewals;  // Follower::renewals then
  Word key;                // of the filter

  [[nodiscard]] bool operator==(const KnownRun&) const = default;
};

struct Follower {
  static constexpr std::uint32_t kMaxDepth = 1u << 16;
  static constexpr std::uint32_t kMaxHandlers = 4;
  static constexpr std::uint32_t kKnownFunctions = 256;
  /// The rows of a tile of a matrix, and not one on another's place: 1,024 were not enough.
  static constexpr unsigned kKnownRunBits = 12;
  static constexpr std::uint32_t kSections = 64;

  /// Of a function: its sites, and the number that the first of them has in the process.
  struct Sites {
    const unit::Function* function;
    const unit::Site* first;
    std::uint32_t count;
    std::uint32_t base;
  };

  /// What lies in front of the words is never written, and so no word that could be taken back.
  struct alignas(256) Line {
    Word front[wire::kLineWords];
    Word words[wire::kLineWords];
  };
  Line lines[1 + kMaxHandlers];  // the first is the thread's
  alignas(64) filter::Table filter;
  Word* done;  // what is before has been settled
  std::uint32_t handlers;
  std::uint32_t depth;
  std::uint32_t told_depth;           // frames that are in the ring; always the outermost ones
  std::uint32_t lost_depth;           // frames that there was no room for
  std::uint32_t blocks;               // atomic ones among the frames
  std::uint32_t scopes;               // scoped blocks
  std::uint32_t wide;                 // upper bits of the next site
  std::uint32_t wides[kMaxHandlers];  // those of what handlers have interrupted
  std::uint32_t leaf;                 // of the innermost frame: kEndsBehindAccess
  std::uint32_t round;                // of the barrier that the thread waits at …
  std::uint32_t round_life;           // … and SyncClock::life then
  std::uint32_t free_nodes;           // a list
  std::uint32_t held_back;            // how often others kept what it did from being past
  std::uint32_t units;                // that there were when `known` was begun
  bool locks;                         // what locks order counts
  // For loads_again().
  bool again;
  std::uint32_t settled;       // how often
  std::uint32_t load_settled;  // the same, behind the last atomic load
  Word load_position;          // of the thread then
  // For in_place_of().
  Thread* its_thread;
  const ThreadWindow* its_window;
  // Held now: a handler that is left by longjmp may have come in between.
  Cell* cell;
  SyncClock* clock;  // or about to be held
  sieve::Thread thread;
  Mine mine;
  bool quiet_on;                       // there are locks and atomics that need not be told of
  bool quiet_memory;                   // and memory that begins or ends
  sieve::QuietLocks quiet;             // those that it holds
  sieve::Section sections[kSections];  // and the last ones that it has released; a ring
  std::uint32_t section_count;
  /// Locks that it took before the first block of the process, and has not given back: nobody has
  /// heard of them.
  struct Unheard {
    std::uintptr_t object;
    wire::Sync kind;
  };
  static constexpr std::uint32_t kMostUnheard = 128;
  Unheard unheard[kMostUnheard];
  std::uint32_t unheard_count;
  /// How many were told of all the same: for who looks for functions that could be blocks
  /// (check/suggest.h).
  static constexpr std::uint32_t kMostHeard = 1024;
  std::uint32_t heard;
  std::uint32_t renewals;  // how often memory became another variable
  sieve::ByteSitesCache asked;
  alignas(64) Draft draft;
  sieve::Thread owner;  // in whose place this one puts accesses into cells
  Log log;
  KnownRun runs[1u << kKnownRunBits];
  Sites now;  // of the function that ran last
  Sites known[kKnownFunctions];
  Frame frames[kMaxDepth];
};

/// For the innermost frame.
inline void find_leaf(Follower& self) {
  self.leaf = self.depth == 0 ? 0 : self.frames[self.depth - 1].flags & Frame::kEndsBehindAccess;
}
/// A word of a function that is no block, as long as nobody has been told of it. False: it is
/// another word. The thread has lost no frame, and none ends behind the next access.
[[nodiscard]] [[gnu::always_inline]] inline bool take_function(Follower& self, Word word) {
  constexpr Word kWhat = wire::kControlBit | wire::kKindMask;
  constexpr Word kEnter = wire::control(wire::Control::kEnter, 0, 0);
  constexpr Word kExit = wire::control(wire::Control::kExit, 0, 0);
  const Word what = word & kWhat;
  const auto* const function = reinterpret_cast<const unit::Function*>(wire::payload_of(word));
  const std::uint32_t depth = self.depth;
  if (what == kEnter) {
    if (depth == Follower::kMaxDepth || (function->flags & unit::kLiveBlock) != 0) return false;
    self.frames[depth] = {function, 0, wire::top_of(word), 0};
    self.depth = depth + 1;
    return true;
  }
  if (what != kExit || depth <= self.told_depth || self.frames[depth - 1].function != function) {
    return false;
  }
  self.depth = depth - 1;
  find_leaf(self);
  return true;
}

// follow_units.cc

extern std::atomic<std::uint32_t> unit_count;
[[nodiscard]] Follower::Sites find_sites(const unit::Function* function);
[[nodiscard]] inline const Follower::Sites& sites_of_function(Follower& self,
                                                              const unit::Function* function) {
  const std::uint32_t count = unit_count.load(std::memory_order_relaxed);
  if (self.now.function == function && self.units == count) return self.now;
  if (self.units != count) {
    self.units = count;
    for (Follower::Sites& known : self.known) known.function = nullptr;
  }
  Follower::Sites& known =
      self.known[(reinterpret_cast<std::uintptr_t>(function) >> 5) % Follower::kKnownFunctions];
  if (__builtin_expect(static_cast<long>(known.function != function), 0) != 0) {
    known = find_sites(function);
  }
  self.now = known;
  return known;
}

/// Where the unit of a function begins; null: not known.
[[nodiscard]] const void* unit_of(const unit::Function* function);

/// The unit of a site, and its index there, by its number in the process.
struct Where {
  std::uintptr_t unit;
  std::uint32_t index;
};
[[nodiscard]] Where where_of(std::uint32_t site);
/// The sites of entries whose bytes were accessed at different ones. A forked child keeps it: sites
/// have the same numbers there. Room for 65,535, 2 MiB; crypt has 45, sqlite 3,100.
using ByteSites = sieve::ByteSitesTable<16>;
extern ByteSites byte_sites;
/// See ByteSitesTable::with().
[[nodiscard]] std::uint32_t with_site(sieve::ByteSitesCache& asked, std::uint32_t site,
                                      unsigned bytes, std::uint32_t other);
void reset_units();

// follow.cc

/// The functions that run, as far as the ring has not got them.
void tell_frames(Follower& self);
/// An event of the thread is in the ring.
void told(Follower& self);

// follow_order.cc

/// For a process that begins.
void reset_order();
/// For a thread that begins; null: there is no room for it.
[[nodiscard]] Follower* begin_order(std::uint32_t slot);
void end_order(Follower& self);
/// Its block has begun or ended.
void set_begin(Follower& self);
extern std::atomic<Word> begins[sieve::kSlots];  // of the blocks that are open
[[nodiscard]] inline Word begin_of(std::uint32_t slot) {
  return begins[slot].load(std::memory_order_relaxed);
}
/// What the slot did at positions below is past (sieve::Past).
extern sieve::Past past;
[[nodiscard]] inline Word past_of(std::uint32_t slot) {
  return past.of(slot);
}
/// And clear.
extern sieve::Clear clear;
[[nodiscard]] inline Word clear_of(std::uint32_t slot) {
  return clear.of(slot);
}
/// All threads know of what the slot did at positions below.
extern sieve::Horizon horizons;
[[nodiscard]] inline Word horizon_of(std::uint32_t slot) {
  return horizons.of(slot);
}
/// Whether no other thread is there, and no block is open, or none has ever been, when nothing but
/// atomicity is checked: nothing that the thread does can be part of anything that is still to
/// come.
[[nodiscard]] bool is_alone(const Follower& self);
/// There are threads that do not follow.
void never_alone();
[[nodiscard]] std::uint32_t slots_in_use();
[[nodiscard]] Follower* follower_of(std::uint32_t slot);  // null: it has no thread
[[nodiscard]] Follower* follower_at(std::uint32_t slot);  // or of the slot's last thread
/// What is past may be more by now: of all threads together.
void advance_past();
/// Behind an event of the thread, and all that came before that is known.
void pass(Follower& self);

}  // namespace syndrome::rt
