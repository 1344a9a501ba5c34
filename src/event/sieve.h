// Which accesses a program that is checked while it runs has to tell of. The definition is that of
// live/sieve.h, which follows every access in the checker; this is the same inside the program,
// where each thread follows its own, on its own core. Like wire.h, compiled into other people's
// programs: it depends on nothing.
//
// For each granule of 8 bytes a Cell has entries: who accessed which bytes, when. "When" is a
// *position*: how many events of its thread had been told. An access replaces the entries that it
// makes superfluous, and its conflicts with other threads' entries are told (Host::late for the
// earlier access, Host::now for this one) when
//   - nothing that is known here orders the earlier one before it; or
//   - the earlier one is in a block that is still open, or this one is in a block that had begun
//     before anything ordered the two.
// What is known of the order (Known) may be less than there is: then more is told than needed, and
// no verdict changes. It is never more.
//
// Threads go by *slots*, which threads that ended leave to others; positions of a slot only grow.

#pragma once

#include <cstdint>

#include "event/known.h"

namespace syndrome::sieve {

/// What is checked while the program runs.
enum class Checked : std::uint32_t {
  kNothing = 0,  // everything is recorded
  kRaces,        // races, and atomic blocks
  kAtomicity,    // nothing but atomic blocks
  kDeterminism,  // deterministic blocks, for which locks order nothing
};

inline constexpr unsigned kSlotBits = 10;
inline constexpr std::uint32_t kSlots = 1u << kSlotBits;
inline constexpr unsigned kPositionShift = 30;

/// What one thread did to a granule at one position.
///   position:34 lock:1 list:1 atomic:1 told:1 slot:10 written bytes:8 read bytes:8
/// All 0: nothing.
struct Entry {
  Word bits;

  static constexpr Word kTold = Word{1} << 26;  // what was done to just these bytes is in the trace
  static constexpr Word kAtomic = Word{1} << 27;  // by an atomic
  static constexpr Word kMore = Word{1} << 28;    // Cell::b: there is a second cell, see there
  static constexpr Word kLock = Word{1} << 29;    // Cell::a: someone is at work
  static constexpr Word kSync = Word{1} << 29;    // Cell::b: a lock or its like lies here
  static constexpr Word kBytes = 0xffff;

  [[nodiscard]] static constexpr Entry of(std::uint32_t slot, Word position) {
    return {(position << kPositionShift) | (Word{slot} << 16)};
  }
  [[nodiscard]] constexpr unsigned read() const { return bits & 0xff; }
  [[nodiscard]] constexpr unsigned written() const { return (bits >> 8) & 0xff; }
  [[nodiscard]] constexpr std::uint32_t slot() const {
    return static_cast<std::uint32_t>(bits >> 16) & (kSlots - 1);
  }
  [[nodiscard]] constexpr Word position() const { return bits >> kPositionShift; }
  [[nodiscard]] constexpr bool empty() const { return (bits & kBytes) == 0; }
  [[nodiscard]] constexpr bool atomic() const { return (bits & kAtomic) != 0; }
  constexpr void add(unsigned bytes, bool write) { bits |= Word{bytes} << (write ? 8 : 0); }
  constexpr void forget(Word those) {
    if ((bits & those) != 0) bits &= ~(those | kTold);
  }
};

/// Two entries. Where they are not enough (two ints that are read and written apart), the granule
/// has a second cell (Host::more); and where that is not enough, its b is the number of a Node, in
/// place of the position, and kMore.
struct Cell {
  Word a;
  Word b;
  std::uint32_t site_a;
  std::uint32_t site_b;

  /// In site_b: an access to the granule is in the trace. What is told late of it later has to keep
  /// behind that, and so what is past is not forgotten.
  static constexpr std::uint32_t kStirred = 1u << 31;
  /// Likewise: an atomic that releases has written here; and so kStirred.
  static constexpr std::uint32_t kReleased = 1u << 30;
  /// Likewise: an access to the granule was told, and will be in the trace if it is not past before
  /// that is sent (runtime/draft.h).
  static constexpr std::uint32_t kDrafted = 1u << 27;
  static constexpr std::uint32_t kFlags = kStirred | kReleased | kDrafted;
  /// In the site of any entry: the atomic has released, with all that its slot did before.
  static constexpr std::uint32_t kReleases = 1u << 29;
  /// In the site of any plain entry that nothing was told of: its bytes were accessed at different
  /// ones (event/byte_sites.h). Sites are numbers below.
  static constexpr std::uint32_t kSeveral = 1u << 28;
  /// Whether what is past is forgotten, by what it says of positions below which all is past, or
  /// clear.
  [[nodiscard]] bool forgets(Word position, Word past, Word clear) const {
    if (position >= past) return false;
    const std::uint32_t told = flags();
    return told == 0 || (told == kDrafted && position < clear);
  }
  [[nodiscard]] bool stirred() const { return (site_b & (kStirred | kReleased)) != 0; }
  [[nodiscard]] std::uint32_t flags() const { return site_b & kFlags; }
};
static_assert(sizeof(Cell) == 24);

/// Entries that two cells have no room for.
struct alignas(64) Node {
  static constexpr unsigned kEntries = 4;
  Word entries[kEntries];
  std::uint32_t sites[kEntries];
  std::uint32_t next;  // 0: none
};
static_assert(sizeof(Node) == 64);

/// In place of entries: there were too many. Every access to the granule is told, byte by byte.
inline constexpr Word kHot = Entry::kAtomic | Entry::kTold;

/// A thread, as far as its accesses go.
struct Thread {
  std::uint32_t slot = 0;
  bool only_atomicity = false;
  Word first = 0;     // its first position
  Word position = 0;  // of what it does next
  /// Behind its last event, or the one that comes next for certain; the same, or less
  /// (event/quiet.h). Like positions, it only grows.
  Word told_at = 0;
  /// Accesses from here on count as one: nothing of another thread came in between (of a block,
  /// when only atomicity is checked: all its accesses).
  Word since = 0;
  Word begin = 0;      // the position of the open block; 0: none is
  bool whole = false;  // and all of its accesses count as one
  Known known{};
  Known at_begin{};
  /// Of other slots, at positions below: what came directly before something that this slot did.
  /// Like positions, it only grows, over all threads of the slot.
  Known before{};
  bool after_unknown = false;  // something that cannot be named came before

  [[nodiscard]] bool owns(Entry entry) const {
    return entry.slot() == slot && entry.position() >= first;
  }
  /// Another event of it was told: something of other threads may have come before it.
  void told() {
    ++position;
    __atomic_store_n(&told_at, position, __ATOMIC_RELEASE);
    if (!whole) since = position;
  }
  /// Behind the event that says so. `atomic`: it is a block for certain.
  void begin_block(bool atomic, std::uint32_t slots) {
    begin = position;
    since = position;
    whole = atomic && only_atomicity;
    at_begin.copy(known, slots);
  }
  void end_block() {
    begin = 0;
    whole = false;
    since = position;
  }

  /// What it did before its open block, and all of it when none is.
  [[nodiscard]] Word limit() const { return begin != 0 ? begin : position; }
  void comes_after(Entry entry) { comes_after(entry.slot(), entry.position() + 1); }
  void comes_after(std::uint32_t other, Word below) {
    if (other >= kKnown) {
      after_unknown = true;
    } else if (before.at[other] < below) {
      __atomic_store_n(&before.at[other], below, __ATOMIC_RELAXED);
    }
  }
  void comes_after(const Known& those, std::uint32_t slots) {
    for (std::uint32_t i = 0; i < slots && i < kKnown; ++i) comes_after(i, those.at[i]);
  }

  /// A position speaks for all before it, also for those of the slot's thread before.
  [[nodiscard]] bool speaks_for_slot() const {
    return slot < kKnown && (first <= 1 || known.at[slot] >= first);
  }
  /// What others know of it who come behind what it has told so far.
  void publish(Known& clock, std::uint32_t slots) const {
    clock.copy(known, slots);
    if (speaks_for_slot()) clock.at[slot] = position;
  }
};

/// What an atomic operation makes known. The caller performs them one after another, each before
/// its event is told. As the standard has it, a store begins anew, and what reads and writes goes
/// on with what was there; fences are not followed.
struct AtomicClock {
  Known known{};

  /// `acquires` and `releases` as its order says.
  void perform(Thread& thread, bool store, bool acquires, bool releases, std::uint32_t slots) {
    if (acquires) thread.known.join(known, slots);
    if (store) known.clear(slots);
    if (!releases) return;
    Known own{};
    thread.publish(own, slots);
    // What it did since its last event comes before this one.
    if (thread.slot < kKnown && own.at[thread.slot] == thread.position) ++own.at[thread.slot];
    known.join(own, slots);
  }
};

/// Of each slot, what all threads know: nothing that comes can conflict with it and not be ordered.
class Horizon {
 public:
  [[nodiscard]] Word of(std::uint32_t slot) const {
    return slot < kKnown ? __atomic_load_n(&at_[slot], __ATOMIC_RELAXED) : 0;
  }
  /// Begins to look at all threads that are alive. A thread that was forked and has not begun yet
  /// counts as well: then there is nothing to see.
  void begin() {
    for (Word& known : least_) known = ~Word{0};
  }
  void see(const Thread& thread) {
    for (std::uint32_t i = 0; i < kKnown; ++i) {
      if (i == thread.slot && thread.first <= 1) continue;
      const Word known = __atomic_load_n(&thread.known.at[i], __ATOMIC_RELAXED);
      if (known < least_[i]) least_[i] = known;
    }
  }
  void end() {
    for (std::uint32_t i = 0; i < kKnown; ++i) {
      if (least_[i] == ~Word{0}) continue;
      if (least_[i] > of(i)) __atomic_store_n(&at_[i], least_[i], __ATOMIC_RELAXED);
    }
  }
  void clear() {
    for (Word& known : at_) known = 0;
  }

 private:
  Word at_[kKnown]{};
  Word least_[kKnown]{};
};

/// What is in the open block of a slot, which begins at that position (0: none is open), is never
/// forgotten because all know it: who comes to it must be told, and its thread must hear of that.
[[nodiscard]] constexpr Word without_block(Word horizon, Word begin) {
  return begin != 0 && begin < horizon ? begin : horizon;
}

/// An access to bytes of one granule.
struct Access {
  Word granule = 0;
  unsigned bytes = 0;  // a bit for each
  bool write = false;
  bool reads = false;   // it writes and has read the same before (x++)
  bool atomic = false;  // it is an event of its own: the next of its thread
  bool quiet = false;   // but not this one (Update::keep_quietly)
  bool orders = false;  // an atomic that writes, and is not relaxed
  bool acquires = false;
  bool releases = false;
  std::uint32_t site = 0;

  /// Whether it goes on with what someone released here, or ends that, or releases itself: somebody
  /// has to hear of it.
  [[nodiscard]] bool is_in_sequence(const Cell& cell) const {
    return write && (orders || (cell.site_b & Cell::kReleased) != 0);
  }
};

/// Whether the access changes nothing, of what can be said without the cell's lock. `c` and `d` are
/// the entries of the second cell, if there is one.
[[nodiscard]] inline bool is_known(Word a, Word b, Word c, Word d, const Thread& thread,
                                   unsigned bytes, bool write) {
  const Word mine = Entry::of(thread.slot, 0).bits;
  constexpr Word kWho = Word{kSlots - 1} << 16;
  // Mostly, nobody else has been there.
  const Word those = write ? bytes << 8 : bytes;
  const Word a_has = write ? a : a | ((a >> 8) & 0xff);
  const Word others =
      write ? (Word{bytes} << 8) | bytes | Entry::kMore : Entry::kAtomic | Entry::kMore;
  if (((a ^ mine) & (kWho | Entry::kAtomic | Entry::kLock)) == 0 && (those & ~a_has) == 0 &&
      a >= thread.since << kPositionShift && (b & others) == 0) {
    return true;
  }
  if (((a & Entry::kLock) | (d & Entry::kMore)) != 0) return false;
  bool known = false;
  bool foreign = false;
  const auto look = [&](Word entry) {
    const Word any = entry | (entry >> 8);
    const Word has = write ? entry >> 8 : any;
    const Word position = entry >> kPositionShift;
    const bool own = ((entry ^ mine) & kWho) == 0 && position >= thread.first;
    const bool atomic = (entry & Entry::kAtomic) != 0;
    known |= own && !atomic && position >= thread.since && (has & bytes) == bytes;
    foreign |= !own && (any & bytes) != 0 && (write || atomic);
  };
  look(a);
  look(b);
  if ((b & Entry::kMore) != 0) {
    look(c);
    look(d);
  }
  return known && !foreign;
}

/// The same of an atomic that nobody has to hear of (Update::keep_quietly), and that is not in a
/// sequence.
[[nodiscard]] inline bool is_known_atomic(Word a, Word b, Word c, Word d, const Thread& thread,
                                          unsigned bytes, bool write) {
  if (((a & Entry::kLock) | (d & Entry::kMore)) != 0) return false;
  bool known = false;
  bool foreign = false;
  const auto look = [&](Word entry) {
    const Entry each{entry};
    const unsigned has = write ? each.written() : each.read() | each.written();
    const unsigned conflicts = write ? each.read() | each.written() : each.written();
    if (thread.owns(each)) {
      // Not by one that was told, which may have released what was before it, but not this one.
      known |= (entry & (Entry::kAtomic | Entry::kTold)) == Entry::kAtomic &&
               each.position() >= thread.since && (has & bytes) == bytes;
    } else {
      foreign |= (conflicts & bytes) != 0;
    }
  };
  look(a);
  look(b);
  if ((b & Entry::kMore) != 0) {
    look(c);
    look(d);
  }
  return known && !foreign;
}

[[nodiscard]] inline bool matters(const Thread& thread, Entry earlier, Word begin_of_slot) {
  const std::uint32_t slot = earlier.slot();
  if (earlier.position() >= thread.known.of(slot)) return true;
  if (thread.begin != 0 && earlier.position() >= thread.at_begin.of(slot)) return true;
  return begin_of_slot != 0 && earlier.position() >= begin_of_slot;
}

}  // namespace syndrome::sieve
