#include "check/atomic_sets/matcher.h"

#include <algorithm>

namespace syndrome::check::atomic_sets {
namespace {

/// Entries of Record::later from which on those that nobody asks for are looked for, whenever the
/// list would have to grow.
constexpr std::size_t kMany = 64;

/// A table goes through all its buckets to forget its keys: one that was large once and is hardly
/// used any more is made anew.
template <class Table>
void forget_all(Table& table) {
  constexpr std::size_t kMostBuckets = 32;
  if (table.empty()) return;
  if (table.bucket_count() > kMostBuckets * table.size()) {
    table = {};
  } else {
    table.clear();
  }
}

}  // namespace

void SmallIndex::append(std::uint32_t key) {
  const auto position = static_cast<std::uint32_t>(keys_.size());
  keys_.push_back(key);
  if (keys_.size() <= kFew) return;
  if (table_.empty()) {
    for (std::uint32_t i = 0; i < keys_.size(); ++i) table_[keys_[i]] = i;
  } else {
    table_[key] = position;
  }
}

void SmallIndex::clear() {
  forget_all(table_);
  keys_.clear();
}

std::size_t Matcher::FoundHash::operator()(const Found& found) const noexcept {
  const std::uint64_t one = std::uint64_t{found.partner} << 32U | found.first;
  const std::uint64_t two = std::uint64_t{found.second} << 8U | std::uint64_t{found.pattern} << 1U |
                            (found.is_unit ? 1U : 0U);
  return (one * 0x9E3779B97F4A7C15U ^ two) * 0xC2B2AE3D27D4EB4FU >> 7U;
}

Matcher::UnitId Matcher::open(UnitName name) {
  ++counts_.units;
  UnitId id = 0;
  if (free_units_.empty()) {
    id = static_cast<UnitId>(units_.size());
    units_.emplace_back();
  } else {
    id = free_units_.back();
    free_units_.pop_back();
  }
  units_[id].name = name;
  return id;
}

void Matcher::close(UnitId id) {
  Unit& unit = units_[id];
  for (std::size_t i = 0; i < unit.parts.size(); ++i) {
    leave(unit.of_set[i], windows_[window_of_[unit.of_set[i]]], *unit.parts[i]);
  }
  unit.sets.clear();
  unit.parts.clear();
  unit.of_set.clear();
  free_units_.push_back(id);
}

void Matcher::access(UnitId id, Membership where, EventKind kind, Access access) {
  Unit& unit = units_[id];
  const std::uint32_t at = unit.sets.find(where.set);
  if (at != kNone) [[likely]] {
    Window& window = windows_[window_of_[where.set]];
    return touch(window, *unit.parts[at], where.set, where.location, kind, access);
  }
  Window& window = window_of(where.set);
  Participant& part = join(window, unit.name, access.number);
  part.live = true;
  window.graph.open(part);
  ++window.live;
  unit.sets.append(where.set);
  unit.of_set.push_back(where.set);
  unit.parts.push_back(&part);
  touch(window, part, where.set, where.location, kind, access);
}

void Matcher::access_alone(ThreadId thread, Membership where, EventKind kind, Access access) {
  Window* const window = known_window(where.set);
  if (window == nullptr) {
    ++counts_.alone;
    return;
  }
  Participant& part = join(*window, {access.number, thread}, access.number);
  touch(*window, part, where.set, where.location, kind, access);
  leave(where.set, *window, part);
}

Matcher::Window& Matcher::window_of(std::uint32_t set) {
  if (set >= window_of_.size()) window_of_.resize(std::max<std::size_t>(set + 1, 64), kNone);
  if (window_of_[set] == kNone) {
    if (free_windows_.empty()) {
      free_windows_.push_back(static_cast<std::uint32_t>(windows_.size()));
      windows_.emplace_back();
    }
    window_of_[set] = free_windows_.back();
    free_windows_.pop_back();
    counts_.windows =
        std::max<std::uint64_t>(counts_.windows, windows_.size() - free_windows_.size());
  }
  return windows_[window_of_[set]];
}

Matcher::Participant& Matcher::join(Window& window, UnitName name, EventNumber now) {
  if (free_participants_.empty()) {
    free_participants_.push_back(participants_.emplace_back(std::make_unique<Participant>()).get());
  }
  Participant& part = *free_participants_.back();
  free_participants_.pop_back();
  part.name = name;
  part.id = ++ids_;
  part.serial = window.serials++;
  part.live = false;
  part.begun = now;
  part.last = now;
  link(window, part);
  ++window.held;
  counts_.held = std::max(counts_.held, ++held_);
  return part;
}

void Matcher::link(Window& window, Participant& part) {
  part.newer = nullptr;
  part.older = window.newest;
  if (window.newest != nullptr) window.newest->newer = &part;
  window.newest = &part;
}

void Matcher::unlink(Window& window, Participant& part) {
  if (part.older != nullptr) part.older->newer = part.newer;
  (part.newer != nullptr ? part.newer->older : window.newest) = part.older;
}

void Matcher::leave(std::uint32_t set, Window& window, Participant& part) {
  if (part.live) --window.live;
  part.live = false;
  if (window.live == 0) return release(set, window);
  forgotten_.clear();
  window.graph.close(part, forgotten_);
  for (SetGraph::Node* const node : forgotten_) drop(window, static_cast<Participant&>(*node));
}

void Matcher::drop(Window& window, Participant& part) {
  unlink(window, part);
  if (--window.held == 1) {
    window.counted = false;
    forget_all(window.touched);
  }
  if (window.counted) {
    for (const Record& record : part.records) {
      const auto touched = window.touched.find(record.location);
      if (record.first[kWrite].number != 0) --touched.value().writers;
      if (--touched.value().units == 0) window.touched.erase(touched);
    }
  }
  static_cast<SetGraph::Node&>(part) = {};
  part.beginnings = 0;
  part.index.clear();
  part.records.clear();
  part.closed.clear();
  forget_all(part.found);
  free_participants_.push_back(&part);
  --held_;
}

void Matcher::release(std::uint32_t set, Window& window) {
  window.counted = false;
  forget_all(window.touched);
  while (window.newest != nullptr) drop(window, *window.newest);
  window.serials = 0;
  window.beginnings = 0;
  window.graph.clear();
  free_windows_.push_back(window_of_[set]);
  window_of_[set] = kNone;
}

void Matcher::touch(Window& window, Participant& part, std::uint32_t set, std::uint32_t location,
                    EventKind kind, Access now) {
  Record* own = part.find(location);
  Touched* touched = nullptr;
  if (window.held == 1) [[likely]] {
    ++counts_.alone;
  } else {
    if (!window.counted) count_touched(window);
    touched = &window.touched[location];
    compare(window, *touched, part, {set, location}, own, kind, now);
  }
  if (own == nullptr) {
    part.index.append(location);
    own = &part.records.emplace_back();
    own->location = location;
    if (touched != nullptr) ++touched->units;
  }
  const EventNumber read_before = own->last[kRead].number;
  if (kind != EventKind::kWrite) record(window, part, *own, kRead, now);
  if (kind != EventKind::kRead) {
    if (touched != nullptr && own->first[kWrite].number == 0) ++touched->writers;
    record(window, part, *own, kWrite, now);
  }
  part.last = now.number;
  if (window.newest != &part) {
    unlink(window, part);
    link(window, part);
  }
  if (touched != nullptr) {
    follow(window, *touched, part, {set, location}, kind, now, read_before);
  }
}

void Matcher::record(Window& window, Participant& part, Record& record, Way way, Access now) {
  record.last[way] = now;
  if (record.first[way].number == 0) {
    record.first[way] = now;
    ++part.beginnings;
    ++window.beginnings;
    record.seen[way] = window.beginnings - part.beginnings;
    return;
  }
  const std::uint64_t others = window.beginnings - part.beginnings;
  if (record.seen[way] == others) return;
  record.seen[way] = others;
  std::vector<Access>& later = record.later[way];
  later.push_back(now);
  if (later.size() < kMany || later.size() < later.capacity()) return;
  prune(window, part, later);
  if (later.size() > later.capacity() / 2) later.reserve(2 * later.capacity());
}

/// Keeps those that are the first after an event with which another unit began something.
void Matcher::prune(const Window& window, const Participant& part, std::vector<Access>& later) {
  std::vector<bool> wanted(later.size(), false);
  for (const Participant* other = window.newest; other != nullptr; other = other->older) {
    if (other == &part) continue;
    for (const Record& record : other->records) {
      for (const Access& begun : record.first) {
        if (begun.number == 0) continue;
        const auto after = std::ranges::upper_bound(later, begun.number, {}, &Access::number);
        if (after != later.end()) wanted[static_cast<std::size_t>(after - later.begin())] = true;
      }
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < later.size(); ++i) {
    if (wanted[i]) later[kept++] = later[i];
  }
  later.resize(kept);
}

Access Matcher::first_after(const Record& record, Way way, EventNumber time) {
  if (record.first[way].number > time) return record.first[way];
  const std::vector<Access>& later = record.later[way];
  const auto after = std::ranges::upper_bound(later, time, {}, &Access::number);
  return after == later.end() ? Access{} : *after;
}

void Matcher::count_touched(Window& window) {
  window.counted = true;
  for (Participant* part = window.newest; part != nullptr; part = part->older) {
    // There was one unit until now, so it is the last one everywhere.
    for (const Record& record : part->records) {
      Touched& touched = window.touched[record.location];
      touched.units = 1;
      touched.written = record.last[kWrite].number;
      const bool wrote = touched.written != 0;
      touched.writers = wrote ? 1 : 0;
      (wrote ? touched.writer : touched.reader) = {part, part->id};
    }
  }
}

void Matcher::compare(Window& window, const Touched& touched, Participant& part, Membership where,
                      Record* own, EventKind kind, Access now) {
  const bool reads = kind != EventKind::kWrite;
  const bool writes = kind != EventKind::kRead;
  // Each pattern ends with a conflict: a read, with what somebody else wrote.
  const bool wrote = own != nullptr && own->first[kWrite].number != 0;
  if (touched.units == (own == nullptr ? 0U : 1U) ||
      (!writes && touched.writers == (wrote ? 1U : 0U))) {
    ++counts_.unshared;
    return;
  }
  // Whoever did nothing since the last access of this way has nothing new to offer, and whoever did
  // nothing since the unit began is before all of it.
  const EventNumber read = own == nullptr ? 0 : own->last[kRead].number;
  const EventNumber written = own == nullptr ? 0 : own->last[kWrite].number;
  const EventNumber since = std::max(part.begun, !reads    ? written
                                                 : !writes ? read
                                                           : std::min(read, written));
  for (Participant* other = window.newest; other != nullptr; other = other->older) {
    if (other == &part) continue;
    if (other->last < since) break;
    if (other->name.thread == part.name.thread) continue;
    Record* const theirs = other->find(where.location);
    if (theirs == nullptr) continue;
    ++counts_.pairs;
    if (reads && other->last > read)
      compare_with(part, *other, where.set, own, *theirs, kRead, now);
    if (writes && other->last > written)
      compare_with(part, *other, where.set, own, *theirs, kWrite, now);
  }
}

void Matcher::compare_with(Participant& acting, Participant& other, std::uint32_t set, Record* own,
                           Record& theirs, Way way, Access now) {
  // The patterns of one location end with u, which is the one that acts.
  const auto one = [&](std::uint8_t number, Way begins, Way middle) {
    if (own == nullptr) return;
    const Access& first = own->first[begins];
    if (first.number == 0 || theirs.last[middle].number < first.number) return;
    report(number, acting, other, set, own->location, own->location,
           {first, first_after(theirs, middle, first.number), now});
  };
  if (way == kWrite) {
    one(1, kRead, kWrite);
    one(3, kWrite, kRead);
    one(5, kWrite, kWrite);
  } else {
    one(2, kRead, kWrite);
    one(4, kWrite, kWrite);
  }
  // Patterns of two locations need both units at both.
  Participant& fewer = acting.records.size() <= other.records.size() ? acting : other;
  const std::size_t most = std::min(fewer.records.size(), kMostLocations);
  counts_.cut += most < fewer.records.size() ? 1 : 0;
  for (std::size_t i = 0; i < most; ++i) {
    const Record& each = fewer.records[i];
    if (each.location == theirs.location) continue;
    Record* const own_other = acting.find(each.location);
    Record* const their_other = other.find(each.location);
    if (own_other == nullptr || their_other == nullptr) continue;
    compare_two(acting, other, set, theirs, *own_other, *their_other, way, now);
  }
}

/// The access in hand is at the location of `theirs`.
void Matcher::compare_two(Participant& acting, Participant& other, std::uint32_t set,
                          Record& theirs, Record& own_other, Record& their_other, Way way,
                          Access now) {
  const std::uint32_t here = theirs.location;
  const std::uint32_t there = own_other.location;
  // u acts, at l2; u' has come between its first access to l1 and now.
  const auto ends_with_u = [&](std::uint8_t at_l1_first, std::uint8_t at_l2_first, Way begins,
                               Way middle) {
    const Access& first = own_other.first[begins];
    if (first.number == 0) return;
    const Access b = first_after(their_other, middle, first.number);
    if (b.number != 0 && theirs.last[middle].number > b.number) {
      report(at_l1_first, acting, other, set, there, here, {first, b, theirs.last[middle], now});
    }
    const Access c = first_after(theirs, middle, first.number);
    if (c.number != 0 && their_other.last[middle].number > c.number) {
      report(at_l2_first, acting, other, set, there, here,
             {first, c, their_other.last[middle], now});
    }
  };
  // u' acts, at l1, after it was at l2 and u came there, too.
  const auto ends_with_other = [&](std::uint8_t number, Way begins, Way middle, Way back) {
    const Access& first = theirs.first[begins];
    if (first.number == 0) return;
    const Access c = first_after(own_other, middle, first.number);
    if (c.number == 0 || their_other.last[back].number < c.number) return;
    report(number, other, acting, set, here, there, {first, c, their_other.last[back], now});
  };
  if (way == kWrite) {
    ends_with_u(6, 7, kWrite, kWrite);
    ends_with_u(9, 10, kWrite, kRead);
    ends_with_other(8, kWrite, kWrite, kWrite);
    ends_with_other(13, kRead, kWrite, kRead);
  } else {
    ends_with_u(11, 12, kRead, kWrite);
    ends_with_other(14, kWrite, kRead, kWrite);
  }
}

void Matcher::report(std::uint8_t pattern, Participant& unit, Participant& other, std::uint32_t set,
                     std::uint32_t first, std::uint32_t second, std::array<Access, 4> events) {
  const bool unit_is_younger = unit.serial > other.serial;
  Participant& younger = unit_is_younger ? unit : other;
  const Found found{(unit_is_younger ? other : unit).serial, first, second, pattern,
                    unit_is_younger};
  if (!younger.found.insert(found).second) return;
  reported_ = std::max(events[2].number, events[3].number);
  reported_set_ = set;
  on_match_({pattern, unit.name, other.name, set, first, second, events});
}

}  // namespace syndrome::check::atomic_sets
