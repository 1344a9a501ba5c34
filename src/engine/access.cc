// Engine: an access meets its cell.

#include "engine/engine.h"

namespace syndrome::engine {

Engine::Way Engine::way(const Thread& thread, std::uint32_t site, bool write, bool atomic) {
  const Node& node = *thread.node;
  Way how;
  if (!write) how.entry |= kReadBit;
  if (atomic) how.entry |= kAtomicBit;
  const SiteInfo* const info = node.site(site);
  const std::uint32_t number = info != nullptr ? site : 0;
  if (node.base != 0) how.entry |= Entry{node.base + number} << kWayShift;
  bool source = write ? node.source : false;
  bool connected = node.connected;
  if (info != nullptr) {
    source |= info->has(SiteInfo::kSource);
    source |= info->has(SiteInfo::kReaches) && node.source_of_results;
    connected |= info->has(SiteInfo::kConnected);
  }
  if (source) how.entry |= kSourceBit;
  how.loose = thread.loose && !connected;
  return how;
}

bool Engine::is_over(const Thread& thread, Entry foreign) const {
  const std::uint32_t slot = slot_of(foreign);
  return epoch_of(foreign) <= thread.clock[slot] &&
         epoch_of(foreign) < slots_[slot].open_since.load(std::memory_order_acquire);
}

void Engine::add(Thread& thread, Entry* cell, Entry now, std::uint64_t granule) {
  // Everything is decided on this copy.
  Entry lanes[kLanes];
  bool foreign = false;
  for (unsigned i = 0; i < kLanes; ++i) {
    lanes[i] = load(cell + i);
    foreign |= lanes[i] != 0 && !is_own(lanes[i], now);
  }
  if (foreign) {
    ++thread.counters.slow;
    if ((now & kReadBit) == 0 && thread.noted_granule == granule && thread.slot != 0) {
      note_again(thread, now, granule);
    }
    for (unsigned i = 0; i < kLanes; ++i) {
      if (!is_own(lanes[i], now) && conflict(lanes[i], now)) meet(thread, lanes, i, now, granule);
    }
  }
  if (foreign && thread.slot != 0 && thread.floor != kNever) {
    Slot& own = slots_[thread.slot];
    if (own.noted.load(std::memory_order_acquire) >= thread.floor) {
      // Whoever has interrupted the thread may have no entry here any more.
      const std::uint32_t by = own.noted_by.load(std::memory_order_relaxed);
      bool asked = false;
      for (const Entry entry : lanes) asked |= slot_of(entry) == by && conflict(entry, now);
      if (!asked) ask_noted(thread, prefix_of(by, 0), now, lanes, 0, granule);
    }
  }
  if (thread.slot != 0) store_cell(thread, cell, lanes, now, granule);
}

void Engine::meet(Thread& thread, const Entry* lanes, unsigned at, Entry now,
                  std::uint64_t granule) {
  const Entry other = lanes[at];
  const std::uint32_t slot = slot_of(other);
  const std::uint32_t epoch = epoch_of(other);
  if (epoch > thread.clock[slot] && (other & now & kAtomicBit) == 0) {
    race(thread, other, now, granule);
  }
  if (epoch >= slots_[slot].open_since.load(std::memory_order_acquire)) {
    note(thread, other, now, granule);
  }
  if (thread.floor == kNever) return;
  for (unsigned older = at + 1; older < kLanes; ++older) {
    if (is_own(lanes[older], now)) {
      ask_one(thread, lanes[older], other, now, lanes, at, granule);
    }
  }
  if (thread.evicted_last >= thread.floor) ask_evicted(thread, other, now, lanes, at, granule);
  if (thread.slot != 0 &&
      slots_[thread.slot].noted.load(std::memory_order_relaxed) >= thread.floor) {
    ask_noted(thread, other, now, lanes, at, granule);
  }
}

void Engine::store_cell(Thread& thread, Entry* cell, const Entry* old, Entry now,
                        std::uint64_t granule) {
  const Entry bytes = now & kBytes;
  Entry put = now;
  Entry kept[kLanes];     // newest first
  unsigned rank[kLanes];  // what goes first when there is no room: the lowest, the oldest of it
  unsigned count = 0;
  bool since = false;  // a foreign entry is newer than the one at hand
  // The oldest own entry that is wanted: what is newer and foreign may have interrupted it.
  unsigned wanted = 0;
  const bool aside = thread.evicted_last >= thread.floor;
  Entry written = (now & kReadBit) != 0 ? 0 : bytes;  // by something newer
  for (unsigned i = kLanes; i-- > 1;) {
    if (old[i] != 0 && is_own(old[i], now) && epoch_of(old[i]) >= thread.floor &&
        (old[i] & bytes) != 0) {
      wanted = i;
      break;
    }
  }
  for (unsigned i = 0; i < kLanes; ++i) {
    Entry entry = old[i];
    if (entry == 0) break;
    const bool weak = (entry & kReadBit) != 0;
    unsigned its_rank = 4;
    if (is_own(entry, now)) {
      const bool open = epoch_of(entry) >= thread.floor &&
                        ((entry & kSourceBit) != 0 ||
                         (epoch_of(entry) >= thread.held_since && (entry & kAtomicBit) == 0));
      if (((entry ^ now) & ~kBytes) == 0 && !since) {
        put |= entry;
        entry = 0;
      } else if (((entry ^ now) & ~(kBytes | kEpochMask)) == 0 ||
                 (!open && covers_kind(now, entry))) {
        entry &= ~bytes;
      }
      // The last write is what others have to meet; what the thread wants itself is kept aside.
      const bool last_write = !weak && (written & entry & kBytes) != (entry & kBytes);
      its_rank = last_write ? 3 : open ? 2 : 0;
    } else {
      since = true;
      const bool over = is_over(thread, entry);
      const bool open =
          epoch_of(entry) >= slots_[slot_of(entry)].open_since.load(std::memory_order_acquire);
      if (over) {
        its_rank = weak ? 0 : 1;
      } else if (!open) {
        its_rank = weak ? 0 : 3;
      } else if (conflict(entry, now) && (now & kReadBit) == 0) {
        its_rank = 1;  // it is noted
      } else {
        its_rank = weak ? 2 : 3;
      }
      if (over && i > wanted && conflict(entry, now) && (now & kReadBit) == 0 &&
          covers_kind(now, entry)) {
        entry &= ~bytes;
      } else if (!weak && (i < wanted || aside)) {
        its_rank = 4;  // it may have interrupted the thread
      }
    }
    if (!weak) written |= entry & kBytes;
    if ((entry & kBytes) == 0) continue;
    kept[count] = entry;
    rank[count] = its_rank;
    ++count;
  }
  if (count == kLanes) {
    unsigned least = rank[0];
    unsigned out = 0;
    for (unsigned i = 1; i < kLanes; ++i) {
      if (rank[i] > least) continue;
      least = rank[i];
      out = i;
    }
    if (least > 1) {
      ++thread.counters.dropped;
      if (is_own(kept[out], now)) {
        evict(thread, kept[out], granule);
      } else if (epoch_of(kept[out]) >=
                 slots_[slot_of(kept[out])].open_since.load(std::memory_order_acquire)) {
        note(thread, kept[out], now, granule);  // should the thread write there next
      }
    }
    for (unsigned i = out; i + 1 < kLanes; ++i) kept[i] = kept[i + 1];
    --count;
  }
  thread.stored = thread.prefix;
  if (put != old[0]) store(cell, put);
  for (unsigned i = 1; i < kLanes; ++i) {
    const Entry entry = i <= count ? kept[i - 1] : 0;
    if (entry != old[i]) store(cell + i, entry);
  }
}

void Engine::several(Thread& thread, const Way& how, std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + bytes;
  while (address != end) {
    const std::uint64_t left = 8 - (address & 7);
    const std::uint64_t here = left < end - address ? left : end - address;
    one(thread, how, address, static_cast<unsigned>(here));
    address += here;
  }
}

void Engine::range(Thread& thread, std::uint64_t address, std::uint64_t bytes, bool write,
                   bool atomic, std::uint32_t site) {
  const Inside inside(*this, thread);
  several(thread, way(thread, site, write, atomic), address, bytes);
}

void Engine::access(Thread& thread, std::uint64_t address, std::uint32_t site) {
  const Inside inside(*this, thread);
  take_access(thread, address, site);
}

void Engine::run(Thread& thread, std::uint64_t address, std::int64_t stride, std::uint64_t rounds,
                 std::uint32_t site) {
  const Inside inside(*this, thread);
  const SiteInfo* const info = thread.node->site(site);
  if (info == nullptr || info->bytes == 0) {
    ++thread.counters.odd;
    return;
  }
  const bool write =
      info->kind != unit::SiteKind::kRead && info->kind != unit::SiteKind::kRangeRead;
  const Way how = way(thread, site, write, false);
  const std::uint64_t bytes = info->bytes;
  // Neighbours are one range.
  if (stride == static_cast<std::int64_t>(bytes)) {
    return several(thread, how, address, bytes * rounds);
  }
  if (stride == -static_cast<std::int64_t>(bytes)) {
    return several(thread, how, address - bytes * (rounds - 1), bytes * rounds);
  }
  for (; rounds > 0; --rounds, address += static_cast<std::uint64_t>(stride)) {
    several(thread, how, address, bytes);
  }
}

void Engine::reset(Thread& thread, std::uint64_t address, std::uint64_t bytes) {
  const Inside inside(*this, thread);
  objects_.remove_range(address, bytes);
  const std::uint64_t end = address + bytes;
  for (std::uint64_t granule = address & ~std::uint64_t{7}; granule < end; granule += 8) {
    Entry* const cell = cell_of(granule);
    Entry mask = kBytes;
    if (granule < address) mask &= kBytes << (address - granule);
    if (end - granule < 8) mask &= (Entry{1} << (end - granule)) - 1;
    unsigned count = 0;
    for (unsigned i = 0; i < kLanes; ++i) {
      Entry entry = load(cell + i);
      if (entry == 0) break;
      entry &= ~mask;
      if ((entry & kBytes) != 0) store(cell + count++, entry);
    }
    for (; count < kLanes; ++count) {
      if (load(cell + count) != 0) store(cell + count, 0);
    }
  }
}

void Engine::free(Thread& thread, std::uint64_t address, std::uint64_t bytes, std::uint32_t site) {
  const Inside inside(*this, thread);
  several(thread, way(thread, site, true, false), address, bytes);
  reset(thread, address, bytes);
}

}  // namespace syndrome::engine
