// What most accesses do to the cell of their granule, where nothing has to be told: the same as
// sieve_update.h, in fewer steps. Like sieve.h, compiled into other people's programs.

#pragma once

#include <cstdint>

#include "event/sieve.h"

namespace syndrome::sieve {

/// Whether an access, `fresh` as an entry, is one with that entry: of the same thread, at the same
/// position, of the same kind, and nothing of it was told.
[[nodiscard]] [[gnu::always_inline]] constexpr bool joins(Word entry, Word fresh) {
  const Word kind = (fresh & 0xff) != 0 ? 0xff : 0xff00;
  return ((entry ^ fresh) & ~kind) == 0;
}

/// The common case of an access, for a cell that the caller has locked: nothing has to be told, and
/// four entries are enough. False: nothing has changed. `a` is what the cell had before the lock.
template <class Host>
[[nodiscard]] [[gnu::always_inline]] inline bool update_quietly(Host& host, Cell& cell, Word a,
                                                                const Thread& thread,
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
    if (cell.forgets(entry.position(), host.past(entry.slot()), host.clear(entry.slot()))) {
      return true;
    }
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
    if (!merged && site == access.site && joins(bits, fresh)) {
      bits |= fresh;
      merged = true;
    }
    kept[count] = bits;
    sites[count++] = site;
    return true;
  };
  const Word b = cell.b;
  if (!keep(a, cell.site_a) ||
      !keep(b & ~(Entry::kSync | Entry::kMore), cell.site_b & ~Cell::kFlags)) {
    return false;
  }
  Cell* more = nullptr;
  if ((b & Entry::kMore) != 0) {
    more = &host.more(cell);
    if ((more->b & Entry::kMore) != 0) return false;
    if (!keep(more->a, more->site_a) || !keep(more->b, more->site_b)) return false;
  }
  // To neighbours at another site: where there is room, an entry of its own is quicker.
  for (unsigned i = 0; i < count && count >= 2 && !merged; ++i) {
    if (!joins(kept[i], fresh)) continue;
    const std::uint32_t site = host.with(sites[i], access.bytes, access.site);
    if (site == 0) break;
    kept[i] |= fresh;
    sites[i] = site;
    merged = true;
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
    cell.site_b = (count == 2 ? sites[1] : 0) | cell.flags();
    return true;
  }
  if (more == nullptr) more = &host.more(cell);
  cell.b = kept[1] | sync | Entry::kMore;
  cell.site_b = sites[1] | cell.flags();
  more->a = kept[2];
  more->site_a = sites[2];
  more->b = count == 4 ? kept[3] : 0;
  more->site_b = count == 4 ? sites[3] : 0;
  return true;
}

/// The same for a read of just the bytes that the thread has read before, at an earlier position,
/// when others do nothing but read there as well: only that entry changes. What several threads
/// read is read like this again and again, after each synchronization and in each block.
template <class Host>
[[nodiscard]] [[gnu::always_inline]] inline bool read_again(const Host& host, Cell& cell, Word a,
                                                            const Thread& thread,
                                                            const Access& access) {
  if (access.write || a == kHot) return false;
  const Word read = access.bytes;
  const Word any = read | (read << 8);
  Word* mine = nullptr;
  Word flags_of_mine = 0;
  std::uint32_t* site_of_mine = nullptr;
  const auto look = [&](Word& entry, Word flags, std::uint32_t& site) {
    const Word bits = entry & ~flags;
    if ((bits & any) == 0) return true;
    const Entry each{bits};
    if (each.atomic()) return false;
    if (!thread.owns(each)) return (each.written() & read) == 0;
    if ((bits & Entry::kBytes) != read || (bits & Entry::kTold) != 0) return false;
    mine = &entry;
    flags_of_mine = entry & flags;
    site_of_mine = &site;
    return true;
  };
  const Word b = cell.b;
  if (!look(cell.a, Entry::kLock, cell.site_a) ||
      !look(cell.b, Entry::kSync | Entry::kMore, cell.site_b)) {
    return false;
  }
  if ((b & Entry::kMore) != 0) {
    Cell& more = host.more(cell);
    if ((more.b & Entry::kMore) != 0 || !look(more.a, 0, more.site_a) ||
        !look(more.b, 0, more.site_b)) {
      return false;
    }
  }
  if (mine == nullptr) return false;
  *mine = Entry::of(thread.slot, thread.position).bits | read | flags_of_mine;
  *site_of_mine = access.site | (site_of_mine == &cell.site_b ? cell.flags() : 0);
  return true;
}

/// The same for a cell whose entries are in a list, in their places: bytes of a granule that are
/// accessed one by one, and readers that nothing orders. False also when the list is not needed any
/// more.
template <class Host>
[[nodiscard]] inline bool update_listed(Host& host, Cell& cell, const Thread& thread,
                                        const Access& access) {
  if ((cell.b & Entry::kMore) == 0 || (cell.a & ~Entry::kLock) == kHot) return false;
  Cell& more = host.more(cell);
  if ((more.b & Entry::kMore) == 0) return false;
  constexpr unsigned kMost = 32;
  const Word both = access.bytes | (Word{access.bytes} << 8);
  const Word conflicts = access.write ? both : both & 0xff00;
  const Word mine = access.write ? both : both & 0xff;
  const Word fresh =
      Entry::of(thread.slot, thread.position).bits | (Word{access.bytes} << (access.write ? 8 : 0));
  // What changes: most entries are of other bytes.
  struct Change {
    Word* entry;
    Word now;
  };
  Change changes[kMost];
  unsigned changed = 0;
  unsigned count = 0;
  unsigned full = 0;
  Word* empty = nullptr;
  std::uint32_t* site_of_empty = nullptr;
  Word* same = nullptr;  // the same access to neighbours
  std::uint32_t* site_of_same = nullptr;
  bool covered = false;
  bool foreign = false;
  // False: it has to be told, or is not for here.
  const auto look = [&](Word& entry, Word flags, std::uint32_t& site) {
    ++count;
    const Word was = entry & ~flags;
    Word bits = was;
    if ((bits & both) != 0) {
      const Entry each{bits};
      if (each.atomic()) return false;
      const bool conflict = (bits & conflicts) != 0;
      if (thread.owns(each)) {
        const unsigned has = access.write ? each.written() : each.read() | each.written();
        covered |= each.position() >= thread.since && (has & access.bytes) == access.bytes;
        if ((bits & mine) != 0) bits &= ~(mine | Entry::kTold);
      } else if (each.position() < host.horizon(each.slot()) ||
                 cell.forgets(each.position(), host.past(each.slot()), host.clear(each.slot()))) {
        foreign |= conflict;
        bits = 0;
      } else {
        foreign |= conflict;
        if (!matters(thread, each, host.begin_of(each.slot()))) {
          if ((bits & mine) != 0) bits &= ~(mine | Entry::kTold);
        } else if (conflict) {
          return false;
        }
      }
    }
    if ((bits & Entry::kBytes) == 0) {
      bits = 0;
      empty = &entry;
      site_of_empty = &site;
    } else {
      ++full;
      if (joins(bits, fresh) && (same == nullptr || (site & ~Cell::kFlags) == access.site)) {
        same = &entry;
        site_of_same = &site;
      }
    }
    if (bits != was) changes[changed++] = {&entry, bits | (entry & flags)};
    return true;
  };
  constexpr Word kFlagsOfB = Entry::kSync | Entry::kMore;
  if (!look(cell.a, Entry::kLock, cell.site_a) || !look(cell.b, kFlagsOfB, cell.site_b) ||
      !look(more.a, 0, more.site_a)) {
    return false;
  }
  Node* last = nullptr;
  for (auto at = static_cast<std::uint32_t>(more.b >> kPositionShift); at != 0; at = last->next) {
    last = &host.node(at);
    if (count + Node::kEntries > kMost) return false;
    for (unsigned i = 0; i < Node::kEntries; ++i) {
      if (!look(last->entries[i], 0, last->sites[i])) return false;
    }
  }
  if (covered && !foreign) return true;
  if (full < 4 || last == nullptr) return false;
  if (same != nullptr && (*site_of_same & ~Cell::kFlags) != access.site) {
    const std::uint32_t site = host.with(*site_of_same & ~Cell::kFlags, access.bytes, access.site);
    if (site == 0) {
      same = nullptr;
    } else {
      *site_of_same = site | (*site_of_same & Cell::kFlags);
    }
  }
  if (same == nullptr && empty == nullptr) {
    const std::uint32_t next = count + Node::kEntries <= kMost ? host.new_node() : 0;
    if (next == 0) return false;
    Node& node = host.node(next);
    node = {};
    last->next = next;
    empty = &node.entries[0];
    site_of_empty = &node.sites[0];
  }
  for (unsigned i = 0; i < changed; ++i) *changes[i].entry = changes[i].now;
  if (same != nullptr) {
    *same |= fresh;
    return true;
  }
  // The flags of a cell stay.
  const bool is_b = empty == &cell.b;
  const Word flags = empty == &cell.a ? Entry::kLock : (is_b ? kFlagsOfB : 0);
  *empty = fresh | (*empty & flags);
  *site_of_empty = access.site | (is_b ? cell.flags() : 0);
  return true;
}

}  // namespace syndrome::sieve
