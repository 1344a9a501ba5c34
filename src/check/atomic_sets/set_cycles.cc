// The Matcher's conflict graphs: edges as accesses go by, and the shortest cycle that one closes.

#include <algorithm>
#include <cassert>
#include <utility>

#include "check/atomic_sets/matcher.h"

namespace syndrome::check::atomic_sets {

/// Edges to the unit that acts: to a read from the last write, to a write from that and the reads
/// since then.
void Matcher::follow(Window& window, Touched& touched, Participant& part, Membership where,
                     EventKind kind, Access now, EventNumber read_before) {
  Participant* closing = nullptr;
  const auto edge = [&](const SetGraph::Known& from) {
    if (from.unit == &part || !from.is_there() || !window.graph.edge(*from.unit, part)) return;
    if (std::ranges::find(part.closed, from.id) != part.closed.end()) return;
    part.closed.push_back(from.id);
    ++counts_.cycles;
    if (closing == nullptr) closing = static_cast<Participant*>(from.unit);
  };
  edge(touched.writer);
  const SetGraph::Known itself{&part, part.id};
  if (kind == EventKind::kRead) {
    const bool known = read_before > touched.written || touched.writer.is(part);
    if (!known && !touched.reader.is_there()) {
      touched.reader = itself;
    } else if (!known) {
      std::vector<SetGraph::Known>& readers = touched.readers;
      if (readers.size() == readers.capacity()) {
        std::erase_if(readers, [](const SetGraph::Known& reader) { return !reader.is_there(); });
        if (readers.size() > readers.capacity() / 2) readers.reserve(2 * readers.capacity());
      }
      readers.push_back(itself);
    }
  } else {
    edge(touched.reader);
    for (const SetGraph::Known& reader : touched.readers) edge(reader);
    touched.writer = itself;
    touched.written = now.number;
    touched.reader = {};
    touched.readers.clear();
  }
  if (closing != nullptr) closes(window, *closing, part, where, kind, now);
}

/// Whether a pattern was found for the two.
bool Matcher::is_explained(const Participant& one, const Participant& two) {
  const Participant& younger = one.serial > two.serial ? one : two;
  const std::uint32_t older = (&younger == &one ? two : one).serial;
  return std::ranges::any_of(younger.found,
                             [older](const Found& found) { return found.partner == older; });
}

void Matcher::closes(Window& window, Participant& from, Participant& part, Membership where,
                     EventKind kind, Access now) {
  if (!on_cycle_ || (reported_ == now.number && reported_set_ == where.set) ||
      is_explained(from, part)) {
    return;
  }
  std::vector<Participant*> path = {&part, &from};
  if (!edge_between(part, from)) {
    if (counts_.searched > kMostSearched) {
      ++counts_.unsearched;
      return;
    }
    path = shortest(window, part, where.location, kind);
  }
  Cycle cycle;
  cycle.set = where.set;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Participant& unit = *path[i];
    const Participant& next = *path[(i + 1) % path.size()];
    if (is_explained(unit, next)) return;
    cycle.units.push_back(unit.name);
    if (&next != &part) cycle.edges.push_back(*edge_between(unit, next));
  }
  const Record& last = *path.back()->find(where.location);
  const bool after_read =
      kind != EventKind::kRead && last.last[kRead].number > last.last[kWrite].number;
  cycle.edges.push_back({last.last[after_read ? kRead : kWrite], now, where.location});
  on_cycle_(cycle);
}

/// The edge that is there first; none when there is none.
std::optional<Cycle::Edge> Matcher::edge_between(const Participant& from, const Participant& to) {
  std::optional<Cycle::Edge> best;
  const auto offer = [&best](const Record& theirs, const Access& first, const Record& own,
                             Way way) {
    if (first.number == 0 || own.last[way].number < first.number) return;
    const Access after = first_after(own, way, first.number);
    if (best && best->to.number <= after.number) return;
    best = {first, after, theirs.location};
  };
  const bool fewer = from.records.size() <= to.records.size();
  for (const Record& each : (fewer ? from : to).records) {
    const Record* const other = (fewer ? to : from).find(each.location);
    if (other == nullptr) continue;
    const Record& theirs = fewer ? each : *other;
    const Record& own = fewer ? *other : each;
    offer(theirs, theirs.first[kWrite], own, kRead);
    offer(theirs, theirs.first[kWrite], own, kWrite);
    offer(theirs, theirs.first[kRead], own, kWrite);
  }
  return best;
}

/// A shortest path from the unit that acts to one that its access conflicts with. Requires that
/// there is one.
std::vector<Matcher::Participant*> Matcher::shortest(const Window& window, Participant& part,
                                                     std::uint32_t location, EventKind kind) {
  struct At {
    Participant* unit;
    const Record* record;
  };
  tsl::robin_map<std::uint32_t, std::vector<At>, MixHash> at;
  for (Participant* unit = window.newest; unit != nullptr; unit = unit->older) {
    for (const Record& record : unit->records) at[record.location].push_back({unit, &record});
    counts_.searched += unit->records.size();
  }
  const auto ends = [&](const Participant& unit) {
    const Record* const record = unit.find(location);
    return record != nullptr && (record->last[kWrite].number != 0 || kind != EventKind::kRead);
  };
  std::vector<std::pair<Participant*, std::size_t>> reached = {{&part, 0}};  // and from where
  tsl::robin_set<std::uint64_t> known = {part.id};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (i != 0 && ends(*reached[i].first)) {
      std::vector<Participant*> path;
      for (std::size_t j = i; j != 0; j = reached[j].second) path.push_back(reached[j].first);
      path.push_back(&part);
      std::ranges::reverse(path);
      return path;
    }
    for (const Record& record : reached[i].first->records) {
      const EventNumber wrote = record.first[kWrite].number;
      const EventNumber read = record.first[kRead].number;
      std::vector<At>& others = at.find(record.location).value();
      counts_.searched += others.size();
      // Who has been reached is not looked at again.
      std::erase_if(others, [&](const At& other) {
        const EventNumber written = other.record->last[kWrite].number;
        const bool follows =
            (wrote != 0 && std::max(written, other.record->last[kRead].number) > wrote) ||
            (read != 0 && written > read);
        if (!follows) return false;
        if (known.insert(other.unit->id).second) reached.emplace_back(other.unit, i);
        return true;
      });
    }
  }
  assert(false);
  return {&part, &part};
}

}  // namespace syndrome::check::atomic_sets
