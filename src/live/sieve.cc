#include "live/sieve.h"

#include <algorithm>
#include <bit>

#include "check/analysis.h"

namespace syndrome::live {
namespace {

/// Calls visit(offset, bytes) for each run of neighbouring bytes in the mask.
template <class Visit>
void each_run(unsigned mask, const Visit& visit) {
  while (mask != 0) {
    const auto from = static_cast<unsigned>(std::countr_zero(mask));
    const auto bytes = static_cast<unsigned>(std::countr_one(mask >> from));
    visit(from, bytes);
    mask &= ~(((1u << bytes) - 1u) << from);
  }
}

[[nodiscard]] bool is_run(unsigned mask) {
  return mask != 0 && std::has_single_bit((mask >> std::countr_zero(mask)) + 1);
}

}  // namespace

void Sieve::place(Thread& thread) {
  const bool whole_block = options_.only_atomicity && thread.begin_ != 0;
  thread.since_ = (whole_block ? thread.begin_ : thread.position_) << Entry::kPositionShift;
  const EventNumber past = thread.begin_ != 0 ? thread.begin_ : thread.position_;
  thread.past_ = past << Entry::kPositionShift;
}

Where Sieve::next_place(Thread& thread, std::uint32_t site) {
  const std::uint32_t order = thread.order_;
  if (order < Where::kMaxOrder) ++thread.order_;
  return {site, order};
}

void Sieve::event(const Event& event, EventNumber number) {
  const bool of_lock = event.kind == EventKind::kAcquire || event.kind == EventKind::kRelease ||
                       event.kind == EventKind::kAcquireShared ||
                       event.kind == EventKind::kReleaseShared;
  if (event.kind == EventKind::kThreadStop) {
    // What the thread did last may never have been told: who takes its slot must know of this.
    Event last = event;
    last.kind = EventKind::kRead;
    last.order = MemoryOrder::kPlain;
    before_.begin_access(last, number);
  }
  if (!options_.determinism || !of_lock) check::dispatch(before_, event, number);
  if (event.thread.index() >= threads_.size()) threads_.resize(event.thread.index() + 1);
  Thread& thread = threads_[event.thread.index()];
  thread.position_ = number;
  thread.order_ = 0;
  if (thread.slot_bits_ == Entry::kSlotBits) {
    // Its first event. Some kinds mean nothing to HappensBefore, so that it has no slot yet.
    Event start = event;
    start.kind = EventKind::kRead;
    start.order = MemoryOrder::kPlain;
    before_.begin_access(start, number);
    thread.id_ = event.thread;
    const std::size_t slot = before_.slot_of(event.thread);
    thread.slot_bits_ = std::uint64_t{slot} << Entry::kSlotShift;
    if (slot >= owners_.size()) owners_.resize(slot + 1);
    owners_[slot].push_back({number, event.thread});
  }
  place(thread);
}

void Sieve::begin_block(ThreadId id) {
  Thread& thread = threads_[id.index()];
  thread.begin_ = thread.position_;
  thread.at_begin_ = before_.clock_of(id);
  ++open_blocks_;
  place(thread);
}

void Sieve::end_block(ThreadId id) {
  Thread& thread = threads_[id.index()];
  if (thread.begin_ == 0) return;
  thread.begin_ = 0;
  --open_blocks_;
  place(thread);
}

ThreadId Sieve::owner(Entry entry) const {
  const std::vector<Owner>& owners = owners_[entry.slot()];
  const auto after =
      std::ranges::upper_bound(owners, entry.position(), {}, [](const Owner& o) { return o.from; });
  return after == owners.begin() ? owners.front().thread : (after - 1)->thread;
}

/// Of an access of another thread that conflicts with one of this thread now.
bool Sieve::matters(const Thread& thread, Entry earlier) const {
  const EventNumber behind = earlier.position() + 1;
  if (before_.too_many_threads() || !before_.before(earlier.slot(), behind, thread.id_)) {
    return true;
  }
  if (thread.begin_ != 0 && thread.at_begin_[earlier.slot()] < behind) return true;
  if (open_blocks_ == 0) return false;
  const Thread& other = threads_[owners_[earlier.slot()].back().thread.index()];
  return other.begin_ != 0 && earlier.position() >= other.begin_;
}

void Sieve::tell_late(SitedEntry& earlier, std::uint64_t granule, unsigned mask) {
  Entry& entry = earlier.entry;
  if (entry.told() && mask == entry.mask()) return;
  const ThreadId thread = owner(entry);
  each_run(mask, [&](unsigned from, unsigned bytes) {
    listener_->late(
        entry.position(), earlier.where.order(),
        {thread, entry.write(), !entry.plain(), granule + from, bytes, earlier.where.site()});
  });
  if (mask == entry.mask() && is_run(mask)) entry.set_told();
}

void Sieve::tell_now(Told access, std::uint64_t granule, unsigned mask) {
  each_run(mask, [&](unsigned from, unsigned bytes) {
    access.address = granule + from;
    access.bytes = bytes;
    listener_->now(access);
  });
}

/// Tells of what `access` conflicts with among entries_, and where a part of it does, of that part:
/// the trace then has both as accesses to the same bytes.
Sieve::Conflicts Sieve::tell_conflicts(const Thread& thread, std::uint64_t granule, unsigned mask,
                                       const Told& access) {
  const std::size_t slot = thread.slot();
  unsigned told = 0;
  bool whole = true;
  for (SitedEntry& each : entries_) {
    const unsigned both = each.entry.mask() & mask;
    if (both == 0 || each.entry.slot() == slot || !(access.write || each.entry.write())) continue;
    if (access.atomic && !each.entry.plain() && each.entry.mask() == mask)
      continue;  // both are there
    if (!matters(thread, each.entry)) continue;
    tell_late(each, granule, both);
    const bool again = whole && both == mask && told == mask;
    whole = whole && both == mask;
    told |= both;
    if (!again && !(access.atomic && both == mask)) tell_now(access, granule, both);
  }
  return {told, told == mask && whole && is_run(mask)};
}

/// The common case of data that many threads read: only the thread's own entry moves on.
bool Sieve::read_again(Thread& thread, Cell& cell, std::uint64_t address, unsigned mask,
                       std::uint32_t site) {
  SitedEntry* own = nullptr;
  for (SitedEntry& each : shadow_.list(cell.b)) {
    const Entry entry = each.entry;
    if ((entry.mask() & mask) == 0) continue;
    const bool mine = ((entry.bits() ^ thread.slot_bits_) & Entry::kSlotBits) == 0;
    if (covers(entry, thread, mask | Entry::kCalm)) return true;
    if (mine && entry.plain() && !entry.write() && entry.mask() == mask && own == nullptr) {
      own = &each;
    } else if (mine || (entry.write() && matters(thread, entry))) {
      return false;
    }
  }
  const Entry first = cell.a;
  if ((first.mask() & mask) != 0) {
    const bool mine = ((first.bits() ^ thread.slot_bits_) & Entry::kSlotBits) == 0;
    if (mine || (first.write() && matters(thread, first))) return false;
  }
  if (own == nullptr) return false;
  // Before it is forgotten: of an open block the first one counts.
  if (thread.begin_ != 0 && own->entry.position() >= thread.begin_) return false;
  shadow_.touch(address);
  own->entry = Entry(thread.position_, thread.slot(), mask, false);
  own->where = next_place(thread, site);
  return true;
}

/// The most common case: at most two entries, all of this thread, and as many are left.
bool Sieve::update_own_two(Thread& thread, Cell& cell, unsigned mask, bool write,
                           std::uint32_t site) {
  const auto own = [&thread](Entry entry) {
    return entry.empty() || (((entry.bits() ^ thread.slot_bits_) & Entry::kSlotBits) == 0 &&
                             (entry.bits() & (Entry::kPlain | Entry::kList)) == Entry::kPlain);
  };
  const Entry a = cell.a;
  const Entry b = cell.b;
  if (!own(a) || !own(b)) return false;
  const auto gone = [&](Entry entry) {
    if ((entry.mask() & ~mask) != 0) return false;
    if (entry.bits() < thread.past_) return write || !entry.write();
    return write && !entry.write() && entry.position() == thread.position_;
  };
  const auto stays = [&](Entry entry) {
    return (entry.mask() & mask) == 0 || (!write && entry.write() && entry.bits() < thread.since_);
  };
  const auto joins = [&](Entry entry, Where where) {
    return entry.position() == thread.position_ && entry.write() == write && where.site() == site;
  };
  const bool a_goes = gone(a);
  const bool b_goes = gone(b);
  if (!(a_goes || stays(a)) || !(b_goes || stays(b))) return false;
  if (!a_goes && joins(a, cell.where_a)) {
    cell.a.add(mask);
    if (b_goes) cell.b = Entry();
    return true;
  }
  if (!b_goes && joins(b, cell.where_b)) {
    cell.b.add(mask);
    if (a_goes) cell.a = Entry();
    return true;
  }
  const Entry entry(thread.position_, thread.slot(), mask, write);
  if (a_goes) {
    cell.a = entry;
    cell.where_a = next_place(thread, site);
    if (b_goes) cell.b = Entry();
    return true;
  }
  if (!b_goes) return false;
  cell.b = entry;
  cell.where_b = next_place(thread, site);
  return true;
}

/// The common case of data that a lock guards: at most two entries, nothing to tell, and at most
/// one of them stays. The same as update().
bool Sieve::update_two(Thread& thread, Cell& cell, unsigned mask, bool write, std::uint32_t site) {
  enum class Fate : std::uint8_t { kGoes, kStays, kUnclear };
  const auto fate_of = [&](Entry entry) {
    if (entry.empty()) return Fate::kGoes;
    if (!entry.plain() || entry.is_list()) return Fate::kUnclear;
    if ((entry.mask() & mask) == 0) return Fate::kStays;
    if (entry.mask() != mask) return Fate::kUnclear;
    if (((entry.bits() ^ thread.slot_bits_) & Entry::kSlotBits) == 0) {
      if (entry.bits() >= thread.past_) return Fate::kUnclear;
      return write || !entry.write() ? Fate::kGoes : Fate::kStays;
    }
    if (matters(thread, entry)) return write || entry.write() ? Fate::kUnclear : Fate::kStays;
    return write || !entry.write() ? Fate::kGoes : Fate::kStays;
  };
  const Fate a = fate_of(cell.a);
  if (a == Fate::kUnclear) return false;
  const Fate b = fate_of(cell.b);
  if (b == Fate::kUnclear || (a == Fate::kStays && b == Fate::kStays)) return false;
  if (b == Fate::kStays) {
    std::swap(cell.a, cell.b);
    std::swap(cell.where_a, cell.where_b);
  }
  const bool one_stays = a == Fate::kStays || b == Fate::kStays;
  if (one_stays && (cell.a.mask() & mask) != 0 && cell.a.write() &&
      cell.a.slot() != thread.slot()) {
    cell.a.set(Entry::kSole, false);
  }
  // The newest first, where it is looked for first.
  if (one_stays) {
    cell.b = cell.a;
    cell.where_b = cell.where_a;
  } else {
    cell.b = Entry();
  }
  cell.a = Entry(thread.position_, thread.slot(), mask, write);
  cell.where_a = next_place(thread, site);
  return true;
}

/// Nothing to tell, few entries: the same as update(), in place. False: it is not so, and nothing
/// has been changed.
bool Sieve::update_quietly(Thread& thread, std::uint64_t address, Cell& cell, unsigned mask,
                           bool write, std::uint32_t site) {
  constexpr std::size_t kMost = 8;
  SitedEntry kept[kMost + 1];
  std::size_t count = 0;
  unsigned rest = mask;
  SitedEntry* alike = nullptr;
  const auto take = [&](Entry entry, Where where) {
    if (!entry.plain()) return false;
    const unsigned both = entry.mask() & mask;
    const bool own = ((entry.bits() ^ thread.slot_bits_) & Entry::kSlotBits) == 0;
    const bool at_position = entry.position() == thread.position_;
    const bool yields = write || !entry.write();
    if (both != 0 && own) {
      const bool same = entry.bits() >= thread.since_;
      if (same && (entry.write() || !write)) {
        rest &= ~both;
      } else if (yields) {
        const bool of_block = thread.begin_ != 0 && entry.position() >= thread.begin_;
        if (of_block && !at_position && !same) return false;
        if (!of_block || at_position) entry.forget(both);
      }
    } else if (both != 0) {
      if (matters(thread, entry)) {
        if (write || entry.write()) return false;
      } else if (yields) {
        entry.forget(both);
      } else {
        entry.set(Entry::kSole, false);
      }
    }
    if (entry.empty()) return true;
    kept[count] = {entry, where};
    if (own && at_position && entry.write() == write && where.site() == site) alike = &kept[count];
    ++count;
    return true;
  };
  if (!cell.a.empty() && !take(cell.a, cell.where_a)) return false;
  if (cell.b.is_list()) {
    const EntryList& more = shadow_.list(cell.b);
    if (more.size() >= kMost) return false;
    for (const SitedEntry& each : more) {
      if (!take(each.entry, each.where)) return false;
    }
  } else if (!cell.b.empty() && !take(cell.b, cell.where_b)) {
    return false;
  }
  if (rest != 0 && alike != nullptr) {
    alike->entry.add(rest);
  } else if (rest != 0) {
    // In front, where it is looked for first.
    kept[count++] = {Entry(thread.position_, thread.slot(), rest, write), next_place(thread, site)};
    std::swap(kept[0], kept[count - 1]);
  }
  if (write) {
    // Whoever has read a write of this thread is over, where it has written again.
    for (std::size_t i = 0; i < count; ++i) {
      Entry& entry = kept[i].entry;
      if (!entry.write() || entry.slot() != thread.slot()) continue;
      bool sole = true;
      for (std::size_t other = 0; other < count; ++other) {
        sole &= kept[other].entry.slot() == thread.slot() ||
                (kept[other].entry.mask() & entry.mask()) == 0;
      }
      entry.set(Entry::kSole, sole);
    }
  }
  shadow_.write(address, cell, {kept, count});
  return true;
}

void Sieve::look(Thread& thread, std::uint64_t address, unsigned bytes, bool write,
                 std::uint32_t site) {
  const unsigned mask = ((1u << bytes) - 1u) << (address & 7);
  Cell& cell = shadow_.at(address);
  if (update_own_two(thread, cell, mask, write, site) ||
      update_two(thread, cell, mask, write, site)) {
    return shadow_.touch(address);
  }
  if (update_quietly(thread, address, cell, mask, write, site)) return;
  if (!write && cell.b.is_list() && read_again(thread, cell, address, mask, site)) return;
  update(thread, address & ~std::uint64_t{7}, mask, write, site);
}

void Sieve::look_twice(Thread& thread, std::uint64_t address, unsigned bytes, std::uint32_t site) {
  // The write takes the place of the read, if there is nothing to tell.
  const unsigned mask = ((1u << bytes) - 1u) << (address & 7);
  if (update_own_two(thread, shadow_.at(address), mask, true, site)) {
    return shadow_.touch(address);
  }
  look(thread, address, bytes, false, site);
  look(thread, address, bytes, true, site);
}

bool Sieve::known_run(Thread& thread, std::uint64_t address, std::int64_t stride,
                      std::uint64_t rounds, unsigned bytes, bool reads, bool writes,
                      std::uint32_t site) {
  if (rounds == 0) return true;
  const std::uint64_t first = address;
  const std::uint64_t last = address + static_cast<std::uint64_t>(stride) * (rounds - 1);
  // Untrusted: in the program's memory, and each access in one granule.
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 47;
  const auto step = static_cast<std::uint64_t>(stride < 0 ? -stride : stride);
  if (address >= kEnd || last >= kEnd || ((address | step) & (bytes - 1)) != 0 ||
      !std::has_single_bit(bytes)) {
    return false;
  }
  const std::uint64_t low = std::min(address, last);
  const std::uint64_t high = std::max(address, last);
  const bool short_enough = ((high - low) >> Shadow::kRegionBits) < 64;
  Run* memory = nullptr;
  std::uint64_t version = 0;
  if (!writes && short_enough && rounds > 8) {
    const std::uint64_t key =
        (address ^ (thread.id_.value * 0x9E3779B97F4A7C15u)) * 0x9E3779B97F4A7C15u;
    memory = &runs_[key >> (64 - 14)];
    version = shadow_.version(low, high);
    if (memory->address == address && memory->stride == stride && memory->rounds == rounds &&
        memory->since == thread.since_ && memory->version == version &&
        memory->thread == thread.id_.value && memory->bytes == bytes) {
      return true;
    }
  }
  bool changed = false;
  for (std::uint64_t i = 0; i < rounds; ++i, address += static_cast<std::uint64_t>(stride)) {
    if (known(thread, address, bytes, writes)) continue;
    // Outside of blocks the order of a thread's accesses counts, and here they come site by site.
    if (thread.begin_ == 0) return false;
    changed = true;
    Cell& cell = shadow_.at(address);
    const unsigned mask = ((1u << bytes) - 1u) << (address & 7);
    if (update_own_two(thread, cell, mask, writes, site)) {
      shadow_.touch(address);
      continue;
    }
    for (const bool write : {false, true}) {
      if (!(write ? writes : reads)) continue;
      if (update_own_two(thread, cell, mask, write, site) ||
          update_two(thread, cell, mask, write, site)) {
        shadow_.touch(address);
      } else if (!update_quietly(thread, address, cell, mask, write, site) &&
                 (write || !cell.b.is_list() || !read_again(thread, cell, address, mask, site))) {
        return false;
      }
    }
  }
  if (memory != nullptr && !changed) {
    *memory = {first, stride, rounds, thread.since_, version, thread.id_.value, bytes};
  }
  return true;
}

void Sieve::atomic(Thread& thread, std::uint64_t address, unsigned bytes, bool write,
                   std::uint32_t site) {
  const std::uint64_t granule = address & ~std::uint64_t{7};
  const unsigned mask = ((1u << bytes) - 1u) << (address & 7);
  Cell& cell = shadow_.at(granule);
  shadow_.read(cell, entries_);
  tell_conflicts(thread, granule, mask, {thread.id_, write, true, 0, 0, site});
  // An atomic takes the place of none but the thread's own of its kind: two atomics need not be
  // ordered, and do not race with each other.
  for (SitedEntry& each : entries_) {
    const Entry entry = each.entry;
    if (entry.plain() || entry.slot() != thread.slot() || entry.write() != write) continue;
    each.entry.forget(mask);
  }
  std::erase_if(entries_, [](const SitedEntry& each) { return each.entry.empty(); });
  entries_.push_back(
      {Entry::atomic(thread.position_, thread.slot(), mask, write), next_place(thread, site)});
  find_calm();
  shadow_.write(granule, cell, entries_);
}

void Sieve::update(Thread& thread, std::uint64_t granule, unsigned mask, bool write,
                   std::uint32_t site) {
  Cell& cell = shadow_.at(granule);
  shadow_.read(cell, entries_);
  const Conflicts conflicts =
      tell_conflicts(thread, granule, mask, {thread.id_, write, false, 0, 0, site});
  unsigned rest = mask;  // bytes that need an entry
  for (SitedEntry& each : entries_) {
    Entry& entry = each.entry;
    const unsigned both = entry.mask() & mask;
    if (both == 0) continue;
    if (entry.slot() != thread.slot()) {
      // A read that is ordered before this one is implied by it.
      const bool implied = entry.plain() && !entry.write() && !matters(thread, entry);
      if (write || implied) entry.forget(both);
      continue;
    }
    const bool same =
        entry.plain() && entry.bits() >= thread.since_ && (both & conflicts.told) == 0;
    if (same && (entry.write() || !write)) {
      rest &= ~both;  // of a block the first one counts
    } else if (write || !entry.write()) {
      // Of a block, the first read stays beside a write, unless they are at one position.
      const bool of_block = thread.begin_ != 0 && entry.position() >= thread.begin_;
      if (of_block && entry.position() != thread.position_) {
        if (same) continue;
        tell_late(each, granule, both);
      }
      entry.forget(both);
    }
  }
  if (rest != 0) {
    const auto alike = [&](const SitedEntry& each) {
      return !conflicts.whole && each.where.site() == site && each.entry.slot() == thread.slot() &&
             each.entry.plain() && each.entry.position() == thread.position_ &&
             each.entry.write() == write;
    };
    const auto found = std::ranges::find_if(entries_, alike);
    if (found != entries_.end()) {
      found->entry.add(rest);
    } else {
      Entry entry(thread.position_, thread.slot(), rest, write);
      if (conflicts.whole && rest == mask) entry.set_told();
      entries_.push_back({entry, next_place(thread, site)});
      std::swap(entries_.front(), entries_.back());
    }
  }
  std::erase_if(entries_, [](const SitedEntry& each) { return each.entry.empty(); });
  find_calm();
  shadow_.write(granule, cell, entries_);
}

void Sieve::find_calm() {
  for (SitedEntry& each : entries_) {
    if (!each.entry.plain()) continue;
    bool sole = each.entry.write();
    bool calm = true;
    for (const SitedEntry& other : entries_) {
      const Entry entry = other.entry;
      if (entry.slot() == each.entry.slot() || (entry.mask() & each.entry.mask()) == 0) continue;
      // What came before it: plain writes (of after it, it would be no more), and older atomics.
      if (entry.plain() ? entry.write() : entry.position() < each.entry.position()) continue;
      sole = false;
      calm = calm && !entry.write();
    }
    each.entry.set(Entry::kSole, sole);
    each.entry.set(Entry::kCalm, calm);
  }
}

}  // namespace syndrome::live
