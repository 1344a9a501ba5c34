// What an access does to the cell of its granule (event/sieve.h): what it tells, what it makes
// superfluous, and where its own entry goes. Like sieve.h, compiled into other people's programs.

#pragma once

#include <cstdint>

#include "event/sieve.h"

namespace syndrome::sieve {

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
///   std::uint32_t with(site, bytes, other)     the site of an entry, once these bytes were
///   accessed
///                                              at `other` (event/byte_sites.h; 0: no room)
///   std::uint32_t site_of(site, byte)          of one of its bytes
///   Word begin_of(slot)                        the position of the block that is open there, or 0
///   Word horizon(slot)                         all threads know of what is at positions below, and
///                                              it is not in the block that is open
///   Word past(slot)                            what is at positions below is past (Past)
///   Word clear(slot)                           and clear (Clear)
///   void intrude(Entry)                        what its thread did, in its open block or since it
///                                              last synchronized, does not stand for what it does
///   void intrude_all()                         the same, of all threads
///   void forget(granule)                       the thread is to tell of its next access to that
///   bool drafts()                              what is told may not come to be in the trace
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
    if (access.acquires) learn(access);
    const unsigned told = tell_conflicts(access);
    if (told_as_ != 0) cell_.site_b |= host_.drafts() ? Cell::kDrafted : Cell::kStirred;
    if (access.atomic) cell_.site_b |= Cell::kStirred;
    if (access.orders) cell_.site_b |= Cell::kFlags;
    forget(access);
    if (!add(access, told == access.bytes && told_as_ == 1) || !write()) heat(access);
  }

  /// An atomic, when races are checked. Whether nobody has to hear of it: it is kept as a plain
  /// access is, and told late when one comes that conflicts. So may be
  ///   - a load, if all that others have written is known to come before it: then so is what those
  ///     have released, and there is nothing to acquire;
  ///   - a relaxed store or update, if the same is true of what others have read, and nobody has
  ///     ever released by writing here, which the relaxed ones would go on with or end.
  /// False: nothing has changed.
  [[nodiscard]] bool keep_quietly(Access access) {
    if ((cell_.a & ~Entry::kLock) == kHot) return false;
    if (access.is_in_sequence(cell_)) return false;
    read();
    if (count_ == kMost) return false;
    for (unsigned i = 0; i < count_; ++i) {
      const Entry entry = all_[i].entry;
      const unsigned both =
          access.bytes & (access.write ? entry.read() | entry.written() : entry.written());
      if (both != 0 && !me_.owns(entry) && matters(entry)) return false;
    }
    access.quiet = true;
    forget(access);
    (void)add(access, false);
    if (!write()) heat(access);
    return true;
  }

  /// The cell from here on: every access is told.
  void heat(const Access& access) {
    host_.intrude_all();
    for (unsigned i = 0; i < count_; ++i) {
      const Entry entry = all_[i].entry;
      if (me_.owns(entry) && entry.position() > me_.position) continue;  // the atomic itself
      if (is_past(entry)) {
        host_.after(entry);
        continue;
      }
      for (unsigned byte = 0; byte < 8; ++byte) {
        const unsigned bit = 1u << byte;
        if ((entry.written() & bit) != 0) late(all_[i], {byte, 1}, true, access.granule);
        if ((entry.read() & bit) != 0) late(all_[i], {byte, 1}, false, access.granule);
      }
    }
    count_ = 0;
    cell_.site_b |= Cell::kFlags;
    (void)write();
    cell_.a = kHot | (cell_.a & Entry::kLock);
    tell_bytes(access);
  }

  /// These bytes are another variable from here on.
  void renew(unsigned bytes) {
    if ((cell_.a & ~Entry::kLock) == kHot) return;
    read();
    for (unsigned i = 0; i < count_; ++i) {
      // It knows what it did to another variable.
      if (!me_.owns(all_[i].entry)) host_.intrude(all_[i].entry);
      all_[i].entry.forget(bytes | (bytes << 8));
    }
    if (bytes == 0xff) cell_.site_b &= ~Cell::kFlags;
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
      if (cell_.forgets(entry.position(), host_.past(entry.slot()), host_.clear(entry.slot()))) {
        return;
      }
      if (!me_.owns(entry) && entry.position() < host_.horizon(entry.slot())) return;
      all_[count_++] = {entry, site};
    };
    take(cell_.a & ~Entry::kLock, cell_.site_a);
    take(cell_.b & ~(Entry::kSync | Entry::kMore), cell_.site_b & ~Cell::kFlags);
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

  /// What the one has released who alone has written here: atomics are followed in their order, so
  /// this one has read that.
  void learn(const Access& access) {
    const Sited* writer = nullptr;
    for (unsigned i = 0; i < count_; ++i) {
      if ((all_[i].entry.written() & access.bytes) == 0) continue;
      if (writer != nullptr) return;
      writer = &all_[i];
    }
    if (writer == nullptr || (writer->site & Cell::kReleases) == 0 ||
        writer->entry.written() != access.bytes) {
      return;
    }
    const std::uint32_t slot = writer->entry.slot();
    const Word position = writer->entry.position();
    if (slot < kKnown && me_.known.at[slot] < position && !me_.owns(writer->entry)) {
      me_.known.at[slot] = position;
    }
  }

  [[nodiscard]] bool is_past(Entry entry) const {
    return entry.position() < host_.past(entry.slot());
  }
  [[nodiscard]] bool matters(Entry earlier) const {
    return sieve::matters(me_, earlier, host_.begin_of(earlier.slot()));
  }

  /// Bytes that are told as one access.
  struct Run {
    unsigned from;
    unsigned count;
  };
  /// Of the bytes of an entry: neighbours that were accessed at one site.
  template <class Visit>
  void each_run_of(const Sited& entry, unsigned bytes, const Visit& visit) const {
    each_run(bytes, [&](unsigned from, unsigned count) {
      const unsigned end = from + count;
      while (from < end) {
        unsigned next = from + 1;
        if ((entry.site & Cell::kSeveral) == 0) next = end;
        while (next < end && site_of(entry, next) == site_of(entry, from)) ++next;
        visit(Run{from, next - from});
        from = next;
      }
    });
  }
  [[nodiscard]] std::uint32_t site_of(const Sited& entry, unsigned byte) const {
    const std::uint32_t site = entry.site & ~Cell::kReleases;
    return (site & Cell::kSeveral) != 0 ? host_.site_of(site, byte) : site;
  }

  void late(const Sited& earlier, Run run, bool write, Word granule) {
    host_.late(earlier.entry, granule, run.from, run.count, write, site_of(earlier, run.from));
  }

  /// The bytes that this access was told of.
  unsigned tell_conflicts(const Access& access) {
    unsigned told = 0;
    Word runs = 0;  // as which it is told: of each `from`, a bit for each count
    for (unsigned i = 0; i < count_; ++i) {
      Sited& each = all_[i];
      const Entry entry = each.entry;
      if (me_.owns(entry)) continue;
      // Both are events already.
      if (access.atomic && entry.atomic() && (entry.bits & Entry::kTold) != 0 &&
          (entry.read() | entry.written()) == access.bytes) {
        continue;
      }
      const unsigned both =
          access.bytes & (access.write ? entry.read() | entry.written() : entry.written());
      if (both == 0) continue;
      if (!matters(entry)) continue;
      host_.intrude(entry);
      me_.comes_after(entry);
      const unsigned writes = both & entry.written();
      const bool all = both == (entry.read() | entry.written());
      // In the trace as accesses to just these bytes already; or in no cycle any more, but this
      // one comes behind what that was behind.
      const bool there = is_past(entry) || (all && (entry.bits & Entry::kTold) != 0);
      if (there) host_.after(entry);
      const auto tell = [&](unsigned bytes, bool write) {
        each_run_of(each, bytes, [&](Run run) {
          // The two are of the same variable, which is these bytes.
          runs |= Word{1} << (8 * run.from + run.count - 1);
          if (!there) late(each, run, write, access.granule);
        });
      };
      tell(writes, true);
      tell(both & ~writes, false);
      if (all) each.entry.bits |= Entry::kTold;
      told |= both;
    }
    told_as_ = static_cast<unsigned>(__builtin_popcountll(runs));
    // Behind all of what came before it.
    for (; runs != 0; runs &= runs - 1) {
      const auto at = static_cast<unsigned>(__builtin_ctzll(runs));
      const Run run{at / 8, at % 8 + 1};
      if (access.atomic && ((1u << run.count) - 1u) << run.from == access.bytes) continue;
      host_.now(access, run.from, run.count);
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
    const bool event = access.atomic && !access.quiet;
    const Word position = me_.position + (event ? 1 : 0);
    told |= event;
    // Who finds the entry waits for it to be told.
    if (event) __atomic_store_n(&me_.told_at, position, __ATOMIC_RELEASE);
    // At one position, accesses of one kind are one entry.
    for (unsigned i = 0; i < count_ && !told && !access.quiet; ++i) {
      Entry& entry = all_[i].entry;
      if (entry.empty() || entry.atomic() || !me_.owns(entry) || entry.position() != position ||
          (entry.bits & Entry::kTold) != 0 ||
          (access.write ? entry.read() : entry.written()) != 0) {
        continue;
      }
      if (std::uint32_t& site = all_[i].site; site != access.site) {
        const std::uint32_t both = host_.with(site, access.bytes, access.site);
        if (both == 0) continue;
        site = both;
      }
      entry.add(access.bytes, access.write);
      return true;
    }
    Entry entry = Entry::of(me_.slot, position);
    entry.add(access.bytes, access.write);
    if (told) entry.bits |= Entry::kTold;
    if (access.atomic) entry.bits |= Entry::kAtomic;
    std::uint32_t site = access.site;
    if (access.releases && me_.speaks_for_slot()) site |= Cell::kReleases;
    for (unsigned i = 0; i < count_; ++i) {
      if (!all_[i].entry.empty()) continue;
      all_[i] = {entry, site};
      return true;
    }
    if (count_ == kMost) return false;
    all_[count_++] = {entry, site};
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
    cell_.site_b = site(1) | cell_.flags();
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
    me_.after_unknown = true;
    host_.forget(access.granule);
    // Nothing says what came before it but the time: who has the cell's lock.
    host_.stamp();
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
