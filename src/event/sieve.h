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

  static constexpr Word kTold = Word{1} << 26;    // one access to just these bytes is in the trace
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
  /// Accesses from here on count as one: nothing of another thread came in between (of a block,
  /// when only atomicity is checked: all its accesses).
  Word since = 0;
  Word begin = 0;      // the position of the open block; 0: none is
  bool whole = false;  // and all of its accesses count as one
  Known known{};
  Known at_begin{};

  [[nodiscard]] bool owns(Entry entry) const {
    return entry.slot() == slot && entry.position() >= first;
  }
  /// Another event of it was told: something of other threads may have come before it.
  void told() {
    ++position;
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

  /// What others know of it who come behind what it has told so far.
  void publish(Known& clock, std::uint32_t slots) const {
    clock.copy(known, slots);
    // A position speaks for all before it, also for those of the slot's thread before.
    if (slot < kKnown && (first <= 1 || known.at[slot] >= first)) clock.at[slot] = position;
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

/// An access to bytes of one granule.
struct Access {
  Word granule = 0;
  unsigned bytes = 0;  // a bit for each
  bool write = false;
  bool reads = false;   // it writes and has read the same before (x++)
  bool atomic = false;  // it is an event of its own: the next of its thread
  std::uint32_t site = 0;
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

[[nodiscard]] inline bool matters(const Thread& thread, Entry earlier, Word begin_of_slot) {
  const std::uint32_t slot = earlier.slot();
  if (earlier.position() >= thread.known.of(slot)) return true;
  if (thread.begin != 0 && earlier.position() >= thread.at_begin.of(slot)) return true;
  return begin_of_slot != 0 && earlier.position() >= begin_of_slot;
}

/// The common case of an access, for a cell that the caller has locked: nothing has to be told, and
/// four entries are enough. False: nothing has changed. `a` is what the cell had before the lock.
template <class Host>
[[nodiscard]] [[gnu::always_inline]] inline bool update_quietly(const Host& host, Cell& cell,
                                                                Word a, const Thread& thread,
                                                                const Access& access) {
  if (a == kHot) return false;
  const Word both = access.bytes | (Word{access.bytes} << 8);
  const Word conflicts = access.write ? both : both & 0xff00;
  const Word mine = access.write ? both : both & 0xff;
  const Word fresh =
      Entry::of(thread.slot, thread.position).bits | (Word{access.bytes} << (access.write ? 8 : 0));
  Word kept[5];
  std::uint32_t sites[5];
  unsigned count = 0;
  bool merged = false;
  // What is left of an entry. False: it has to be told.
  const auto keep = [&](Word bits, std::uint32_t site) {
    const Entry entry{bits};
    if (entry.empty()) return true;
    if ((bits & Entry::kAtomic) != 0) return false;
    if ((bits & both) != 0) {
      Word superfluous = mine;
      if (!thread.owns(entry)) {
        if (entry.position() < host.horizon(entry.slot())) return true;
        if (matters(thread, entry, host.begin_of(entry.slot()))) {
          if ((bits & conflicts) != 0) return false;
          superfluous = 0;
        }
      }
      if ((bits & superfluous) != 0) bits &= ~(superfluous | Entry::kTold);
      if ((bits & Entry::kBytes) == 0) return true;
    }
    // The same access to its neighbours.
    if (!merged && ((bits ^ fresh) & ~Entry::kBytes) == 0 && site == access.site &&
        (bits & (access.write ? 0xff : 0xff00)) == 0) {
      bits |= fresh;
      merged = true;
    }
    kept[count] = bits;
    sites[count++] = site;
    return true;
  };
  const Word b = cell.b;
  if (!keep(a, cell.site_a) || !keep(b & ~(Entry::kSync | Entry::kMore), cell.site_b)) return false;
  Cell* more = nullptr;
  if ((b & Entry::kMore) != 0) {
    more = &host.more(cell);
    if ((more->b & Entry::kMore) != 0) return false;
    if (!keep(more->a, more->site_a) || !keep(more->b, more->site_b)) return false;
  }
  if (!merged) {
    if (count == 4) return false;
    kept[count] = fresh;
    sites[count++] = access.site;
  }
  cell.a = kept[0] | Entry::kLock;
  cell.site_a = sites[0];
  const Word sync = b & Entry::kSync;
  if (count <= 2) {
    cell.b = (count == 2 ? kept[1] : 0) | sync;
    cell.site_b = count == 2 ? sites[1] : 0;
    return true;
  }
  if (more == nullptr) more = &host.more(cell);
  cell.b = kept[1] | sync | Entry::kMore;
  cell.site_b = sites[1];
  more->a = kept[2];
  more->site_a = sites[2];
  more->b = count == 4 ? kept[3] : 0;
  more->site_b = count == 4 ? sites[3] : 0;
  return true;
}

/// Calls visit(from, count) for each run of neighbouring bytes.
template <class Visit>
void each_run(unsigned bytes, const Visit& visit) {
  while (bytes != 0) {
    const auto from = static_cast<unsigned>(__builtin_ctz(bytes));
    const auto count = static_cast<unsigned>(__builtin_ctz(~(bytes >> from)));
    visit(from, count);
    bytes &= ~(((1u << count) - 1u) << from);
  }
}

/// One access to a cell that nobody else is at work on. A Host has
///   Cell& more(const Cell&)     the second cell of a granule
///   Node& node(std::uint32_t)   std::uint32_t new_node() (0: no room)   void free_node(…)
///   Word begin_of(slot)                        the position of the block that is open there, or 0
///   Word horizon(slot)                         all threads know of what is at positions below
///   void late(Entry, granule, from, count, bool write, site)   behind the position of the entry
///   void after(Entry)                          what is told next comes behind that position
///   void now(const Access&, from, count)       an event of the thread, who calls Thread::told()
template <class Host>
class Update {
 public:
  Update(Host& host, Thread& thread, Cell& cell) : host_(host), me_(thread), cell_(cell) {}

  void access(const Access& access) {
    if ((cell_.a & ~Entry::kLock) == kHot) return tell_bytes(access);
    read();
    if (covered(access)) return;
    const unsigned told = tell_conflicts(access);
    forget(access);
    if (!add(access, told == access.bytes && told_as_ == 1) || !write()) heat(access);
  }

  /// The cell from here on: every access is told.
  void heat(const Access& access) {
    for (unsigned i = 0; i < count_; ++i) {
      const Entry entry = all_[i].entry;
      if (me_.owns(entry) && entry.position() > me_.position) continue;  // the atomic itself
      for (unsigned byte = 0; byte < 8; ++byte) {
        const unsigned bit = 1u << byte;
        if ((entry.written() & bit) != 0) late(all_[i], byte, 1, true, access.granule);
        if ((entry.read() & bit) != 0) late(all_[i], byte, 1, false, access.granule);
      }
    }
    count_ = 0;
    (void)write();
    cell_.a = kHot | (cell_.a & Entry::kLock);
    tell_bytes(access);
  }

  /// These bytes are another variable from here on.
  void renew(unsigned bytes) {
    if ((cell_.a & ~Entry::kLock) == kHot) return;
    read();
    for (unsigned i = 0; i < count_; ++i) all_[i].entry.forget(bytes | (bytes << 8));
    (void)write();
  }

 private:
  struct Sited {
    Entry entry;
    std::uint32_t site;
  };
  static constexpr unsigned kMost = 32;

  void read() {
    count_ = 0;
    const auto take = [&](Word bits, std::uint32_t site) {
      const Entry entry{bits};
      if (entry.empty() || count_ == kMost) return;
      if (!me_.owns(entry) && entry.position() < host_.horizon(entry.slot())) return;
      all_[count_++] = {entry, site};
    };
    take(cell_.a & ~Entry::kLock, cell_.site_a);
    take(cell_.b & ~(Entry::kSync | Entry::kMore), cell_.site_b);
    if ((cell_.b & Entry::kMore) == 0) return;
    const Cell& more = host_.more(cell_);
    take(more.a, more.site_a);
    if ((more.b & Entry::kMore) == 0) return take(more.b, more.site_b);
    for (auto at = static_cast<std::uint32_t>(more.b >> kPositionShift); at != 0;) {
      const Node& node = host_.node(at);
      for (unsigned i = 0; i < Node::kEntries; ++i) take(node.entries[i], node.sites[i]);
      at = node.next;
    }
  }

  [[nodiscard]] bool covered(const Access& access) const {
    if (access.atomic) return false;
    bool covered = false;
    for (unsigned i = 0; i < count_; ++i) {
      const Entry entry = all_[i].entry;
      const unsigned any = (entry.read() | entry.written()) & access.bytes;
      if (me_.owns(entry)) {
        const unsigned has = access.write ? entry.written() : entry.read() | entry.written();
        covered |= !entry.atomic() && entry.position() >= me_.since &&
                   (has & access.bytes) == access.bytes;
      } else if (any != 0 && (access.write || entry.atomic())) {
        // A plain one would have taken the place of what was before it.
        return false;
      }
    }
    return covered;
  }

  [[nodiscard]] bool matters(Entry earlier) const {
    return sieve::matters(me_, earlier, host_.begin_of(earlier.slot()));
  }

  void late(const Sited& earlier, unsigned from, unsigned count, bool write, Word granule) {
    host_.late(earlier.entry, granule, from, count, write, earlier.site);
  }

  /// The bytes that this access was told of.
  unsigned tell_conflicts(const Access& access) {
    unsigned told = 0;
    unsigned masks[kMost];
    told_as_ = 0;
    for (unsigned i = 0; i < count_; ++i) {
      Sited& each = all_[i];
      const Entry entry = each.entry;
      if (me_.owns(entry)) continue;
      // Both are events already.
      if (access.atomic && entry.atomic() && (entry.read() | entry.written()) == access.bytes) {
        continue;
      }
      const unsigned both =
          access.bytes & (access.write ? entry.read() | entry.written() : entry.written());
      if (both == 0 || !matters(entry)) continue;
      const unsigned writes = both & entry.written();
      const unsigned reads = both & ~writes;
      // In the trace as one access to just these bytes already.
      const bool there =
          (entry.bits & Entry::kTold) != 0 && both == (entry.read() | entry.written());
      if (there) {
        host_.after(entry);
      } else {
        each_run(writes, [&](unsigned from, unsigned count) {
          late(each, from, count, true, access.granule);
        });
        each_run(reads, [&](unsigned from, unsigned count) {
          late(each, from, count, false, access.granule);
        });
        const bool whole = both == (entry.read() | entry.written()) &&
                           (writes == both || reads == both) &&
                           both >> __builtin_ctz(both) == (1u << __builtin_popcount(both)) - 1;
        if (whole && (entry.read() == 0 || entry.written() == 0)) each.entry.bits |= Entry::kTold;
      }
      bool again = false;
      for (unsigned k = 0; k < told_as_; ++k) again |= masks[k] == both;
      if (again) continue;
      masks[told_as_++] = both;
      told |= both;
    }
    // Behind all of what came before it.
    for (unsigned k = 0; k < told_as_; ++k) {
      if (access.atomic && masks[k] == access.bytes) continue;
      each_run(masks[k], [&](unsigned from, unsigned count) { host_.now(access, from, count); });
    }
    return told;
  }

  /// What this access makes superfluous: whoever conflicts with that conflicts with this one.
  void forget(const Access& access) {
    const Word bytes = access.bytes;
    for (unsigned i = 0; i < count_; ++i) {
      Entry& entry = all_[i].entry;
      // To an atomic, an atomic is no race: what is plain stays, and what nothing orders.
      const bool mine = me_.owns(entry) || !matters(entry);
      if (access.atomic && !(entry.atomic() && mine)) continue;
      if (access.write) {
        entry.forget(bytes | (bytes << 8));
      } else if (access.atomic == entry.atomic() && mine) {
        entry.forget(bytes);
      }
    }
  }

  /// False: there are too many.
  bool add(const Access& access, bool told) {
    const Word position = me_.position + (access.atomic ? 1 : 0);
    told |= access.atomic;
    for (unsigned i = 0; i < count_ && !told; ++i) {
      Entry& entry = all_[i].entry;
      if (entry.empty() || entry.atomic() || !me_.owns(entry) || entry.position() != position ||
          (entry.bits & Entry::kTold) != 0 || all_[i].site != access.site ||
          (access.write ? entry.read() : entry.written()) != 0) {
        continue;
      }
      entry.add(access.bytes, access.write);
      return true;
    }
    Entry entry = Entry::of(me_.slot, position);
    entry.add(access.bytes, access.write);
    if (told) entry.bits |= Entry::kTold;
    if (access.atomic) entry.bits |= Entry::kAtomic;
    for (unsigned i = 0; i < count_; ++i) {
      if (!all_[i].entry.empty()) continue;
      all_[i] = {entry, access.site};
      return true;
    }
    if (count_ == kMost) return false;
    all_[count_++] = {entry, access.site};
    return true;
  }

  /// False: there is no room.
  bool write() {
    unsigned kept = 0;
    for (unsigned i = 0; i < count_; ++i) {
      if (!all_[i].entry.empty()) all_[kept++] = all_[i];
    }
    count_ = kept;
    Cell* more = (cell_.b & Entry::kMore) != 0 ? &host_.more(cell_) : nullptr;
    const bool listed = more != nullptr && (more->b & Entry::kMore) != 0;
    auto node = listed ? static_cast<std::uint32_t>(more->b >> kPositionShift) : 0;
    const auto entry = [&](unsigned i) { return i < kept ? all_[i].entry.bits : 0; };
    const auto site = [&](unsigned i) { return i < kept ? all_[i].site : 0; };
    cell_.a = entry(0) | (cell_.a & Entry::kLock);
    cell_.site_a = site(0);
    cell_.b = entry(1) | (cell_.b & Entry::kSync) | (kept > 2 ? Entry::kMore : 0);
    cell_.site_b = site(1);
    if (kept > 2) {
      if (more == nullptr) more = &host_.more(cell_);
      more->a = entry(2);
      more->site_a = site(2);
    }
    if (kept <= 4) {
      if (more != nullptr) {
        more->b = entry(3);
        more->site_b = site(3);
      }
      free_nodes(node);
      return true;
    }
    if (node == 0) node = host_.new_node();
    more->b = (Word{node} << kPositionShift) | Entry::kMore;
    if (node == 0) return false;
    for (unsigned i = 3; node != 0;) {
      Node& at = host_.node(node);
      for (unsigned k = 0; k < Node::kEntries; ++k, ++i) {
        at.entries[k] = i < kept ? all_[i].entry.bits : 0;
        at.sites[k] = i < kept ? all_[i].site : 0;
      }
      if (i >= kept) {
        free_nodes(at.next);
        at.next = 0;
      } else if (at.next == 0) {
        at.next = host_.new_node();
        if (at.next == 0) return false;
      }
      node = at.next;
    }
    return true;
  }
  void free_nodes(std::uint32_t node) {
    while (node != 0) {
      const std::uint32_t next = host_.node(node).next;
      host_.free_node(node);
      node = next;
    }
  }

  void tell_bytes(const Access& access) {
    if (access.atomic && (access.bytes & (access.bytes - 1)) == 0) return;
    each_run(access.bytes, [&](unsigned from, unsigned count) {
      for (unsigned i = 0; i < count; ++i) host_.now(access, from + i, 1);
    });
  }

  Host& host_;
  Thread& me_;
  Cell& cell_;
  unsigned count_ = 0;
  unsigned told_as_ = 0;
  Sited all_[kMost];
};

}  // namespace syndrome::sieve
