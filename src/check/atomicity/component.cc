#include "check/atomicity/component.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace syndrome::check {

Component::Component(std::vector<ComponentEvent> events,
                     std::vector<ComponentTransaction> transactions)
    : events_(std::move(events)), transactions_(std::move(transactions)) {
  index_threads();
  index_objects();
  index_ways();
  order_events();
}

void Component::index_threads() {
  transaction_thread_.resize(transactions_.size());
  place_in_thread_.resize(transactions_.size());
  for (TransactionIndex t = 0; t < transactions_.size(); ++t) {
    const auto [at, added] = local_thread_.try_emplace(
        transactions_[t].thread, static_cast<ThreadIndex>(local_thread_.size()));
    if (added) thread_transactions_.emplace_back();
    transaction_thread_[t] = at->second;
    thread_transactions_[at->second].push_back(t);
  }
  for (auto& list : thread_transactions_) {
    std::sort(list.begin(), list.end(), [this](TransactionIndex a, TransactionIndex b) {
      return transactions_[a].first < transactions_[b].first;
    });
    for (std::uint32_t i = 0; i < list.size(); ++i) place_in_thread_[list[i]] = i;
  }
  joins_of_.resize(local_thread_.size());
  transaction_begin_.assign(transactions_.size() + 1, 0);
  for (EventIndex e = 0; e < events_.size(); ++e) {
    ++transaction_begin_[transaction_of(e) + 1];
    if (event(e).kind != EventKind::kJoin) continue;
    if (const std::optional<ThreadIndex> child = child_of(e)) joins_of_[*child].push_back(e);
  }
  for (std::size_t t = 0; t < transactions_.size(); ++t) {
    transaction_begin_[t + 1] += transaction_begin_[t];
  }
  by_transaction_.resize(events_.size());
  std::vector<std::size_t> fill(transaction_begin_.begin(), transaction_begin_.end() - 1);
  for (EventIndex e = 0; e < events_.size(); ++e) by_transaction_[fill[transaction_of(e)]++] = e;
}

void Component::index_objects() {
  std::map<std::tuple<Space, std::uint32_t, std::uint32_t>, std::uint32_t> ids;
  object_.assign(events_.size(), kNone);
  place_.assign(events_.size(), 0);
  for (EventIndex e = 0; e < events_.size(); ++e) {
    const std::optional<Space> space = target_space(event(e).kind);
    if (!space || *space == Space::kThread || *space == Space::kLabel) continue;
    if (event(e).flags != 0) continue;  // nested: of thread order only
    // Home-made synchronization is apart from posts and waits, which are of round 0.
    const EventKind kind = event(e).kind;
    const bool home_made = kind == EventKind::kHappensBefore || kind == EventKind::kHappensAfter;
    const auto [at, added] =
        ids.try_emplace({*space, event(e).target, home_made ? 1 : events_[e].round},
                        static_cast<std::uint32_t>(objects_.size()));
    if (added) objects_.emplace_back();
    object_[e] = at->second;
    place_[e] = static_cast<std::uint32_t>(objects_[at->second].size());
    objects_[at->second].push_back(e);
  }
  stop_after_.assign(events_.size(), kNone);
  stop_before_.assign(events_.size(), kNone);
  next_strong_.assign(events_.size(), kNone);
  released_in_.assign(events_.size(), kNone);
  for (const std::vector<EventIndex>& list : objects_) index_stops(list);
}

void Component::index_stops(const std::vector<EventIndex>& list) {
  // The nearest strong event, and the nearest one of another thread than that.
  struct Nearest {
    std::uint32_t place;
    std::uint32_t other;
  };
  const auto of_other_thread = [&](const Nearest& nearest, std::uint32_t none, EventIndex e) {
    if (nearest.place == none) return none;
    return thread_of(list[nearest.place]) != thread_of(e) ? nearest.place : nearest.other;
  };
  const auto add = [&](Nearest& nearest, std::uint32_t none, std::uint32_t place) {
    const bool same =
        nearest.place != none && thread_of(list[nearest.place]) == thread_of(list[place]);
    if (!same) nearest.other = nearest.place;
    nearest.place = place;
  };

  const auto size = static_cast<std::uint32_t>(list.size());
  Nearest before{kNone, kNone};
  for (std::uint32_t i = 0; i < size; ++i) {
    stop_before_[list[i]] = of_other_thread(before, kNone, list[i]);
    const EventKind kind = event(list[i]).kind;
    if (is_write(kind) || kind == EventKind::kRelease) add(before, kNone, i);
  }
  Nearest after{size, size};
  std::unordered_map<ThreadIndex, TransactionIndex> release;
  for (std::uint32_t i = size; i-- > 0;) {
    stop_after_[list[i]] = of_other_thread(after, size, list[i]);
    next_strong_[list[i]] = after.place;
    const EventKind kind = event(list[i]).kind;
    if (is_write(kind) || kind == EventKind::kAcquire) add(after, size, i);
    if (kind == EventKind::kRelease) release[thread_of(list[i])] = transaction_of(list[i]);
    if (kind == EventKind::kAcquire) {
      const auto at = release.find(thread_of(list[i]));
      if (at != release.end()) released_in_[list[i]] = at->second;
    }
  }
}

namespace {

// Whether an event of this kind can be the first, or the second, of two that conflict.
bool can_come_first(EventKind kind) {
  switch (kind) {
    case EventKind::kRelease:
    case EventKind::kReleaseShared:
    case EventKind::kBarrierArrive:
    case EventKind::kPost:
    case EventKind::kHappensBefore:
    case EventKind::kCondSignal:
    case EventKind::kCondBroadcast: return true;
    default: return is_access(kind);
  }
}
bool can_come_second(EventKind kind) {
  return is_access(kind) || !can_come_first(kind);
}

}  // namespace

void Component::index_ways() {
  // Events of one kind on one object with the same stop conflict with the same events up to there:
  // to leave, the first of them does for all; to enter, the last.
  struct Run {
    std::uint32_t stop_after;
    std::uint32_t stop_before;
    std::size_t way_in;  // into ways_in_
  };
  ways_out_.resize(transactions_.size());
  ways_in_.resize(transactions_.size());
  std::map<std::pair<std::uint32_t, EventKind>, Run> runs;
  for (TransactionIndex t = 0; t < transactions_.size(); ++t) {
    std::vector<EventIndex>& out = ways_out_[t];
    std::vector<EventIndex>& in = ways_in_[t];
    runs.clear();
    for (const EventIndex e : events_of(t)) {
      const EventKind kind = event(e).kind;
      if (object_[e] == kNone) {
        if (kind == EventKind::kFork) out.push_back(e);
        if (kind == EventKind::kJoin) in.push_back(e);
        continue;
      }
      const auto [at, first] = runs.try_emplace({object_[e], kind});
      Run& run = at->second;
      if (can_come_first(kind) && (first || run.stop_after != stop_after_[e])) out.push_back(e);
      if (!can_come_second(kind)) {
        // no way in
      } else if (first || run.stop_before != stop_before_[e]) {
        run.way_in = in.size();
        in.push_back(e);
      } else {
        in[run.way_in] = e;
      }
      run.stop_after = stop_after_[e];
      run.stop_before = stop_before_[e];
    }
  }
}

std::optional<Component::ThreadIndex> Component::child_of(EventIndex e) const {
  const auto at = local_thread_.find(event(e).child());
  return at == local_thread_.end() ? std::nullopt : std::optional(at->second);
}

// --- the order of events by conflicts

bool Component::knows(ThreadIndex thread, EventIndex e) const {
  const auto at = history_[thread].find(thread_of(e));
  return at != history_[thread].end() && at->second.back().events >= ordinal_[e];
}

// At event `at`, `thread` comes to know e and all that e's thread knew at e.
void Component::learn(ThreadIndex thread, EventNumber at, EventIndex e) {
  if (thread_of(e) == thread || knows(thread, e)) return;
  History& mine = history_[thread];
  const auto grow = [&](ThreadIndex other, std::uint32_t events) {
    if (other == thread) return;
    std::vector<Growth>& growth = mine[other];
    if (!growth.empty() && growth.back().events >= events) return;
    growth.push_back({at, events});
    ++growths_;
  };
  static const History kNothing;
  for (const auto& [other, growth] : growths_ < kMostGrowths ? history_[thread_of(e)] : kNothing) {
    const auto after =
        std::upper_bound(growth.begin(), growth.end(), number(e),
                         [](EventNumber wanted, const Growth& entry) { return wanted < entry.at; });
    if (after != growth.begin()) grow(other, std::prev(after)->events);
  }
  grow(thread_of(e), ordinal_[e]);
}

void Component::learn_from_object(EventIndex e,
                                  std::unordered_map<std::uint64_t, std::uint32_t>& taken) {
  if (object_[e] == kNone) return;
  const ThreadIndex thread = thread_of(e);
  const std::vector<EventIndex>& list = objects_[object_[e]];
  const auto strong = [&] {
    if (stop_before_[e] != kNone) learn(thread, number(e), list[stop_before_[e]]);
  };
  switch (event(e).kind) {
    case EventKind::kRead:
    case EventKind::kAcquireShared: strong(); return;
    case EventKind::kWrite:
    case EventKind::kRmw:
    case EventKind::kAcquire:
    case EventKind::kBarrierLeave:
    case EventKind::kWait:
    case EventKind::kHappensAfter:
    case EventKind::kCondWait: break;
    default: return;
  }
  // Also the weak ones since this thread last took them in.
  strong();
  std::uint32_t& from = taken[static_cast<std::uint64_t>(object_[e]) << 32U | thread];
  if (stop_before_[e] != kNone) from = std::max(from, stop_before_[e]);
  for (; from < place_[e]; ++from) {
    if (thread_of(list[from]) != thread && conflict(list[from], e)) {
      learn(thread, number(e), list[from]);
    }
  }
}

void Component::order_events() {
  ordinal_.resize(events_.size());
  history_.resize(local_thread_.size());
  std::vector<EventIndex> last(local_thread_.size(), kNone);
  std::vector<EventIndex> forked_by(local_thread_.size(), kNone);
  // The place in its object of this thread's last event that took in all events before it.
  std::unordered_map<std::uint64_t, std::uint32_t> taken;
  for (EventIndex e = 0; e < events_.size(); ++e) {
    const ThreadIndex thread = thread_of(e);
    const bool first = last[thread] == kNone;
    // Entries of one number are one event: determinism lets an event stand for two.
    const bool same = !first && number(last[thread]) == number(e);
    ordinal_[e] = first ? 1 : ordinal_[last[thread]] + (same ? 0 : 1);
    last[thread] = e;
    if (first && forked_by[thread] != kNone) learn(thread, number(e), forked_by[thread]);
    learn_from_object(e, taken);
    if (event(e).kind == EventKind::kFork) {
      if (const std::optional<ThreadIndex> child = child_of(e)) forked_by[*child] = e;
    } else if (event(e).kind == EventKind::kJoin) {
      const std::optional<ThreadIndex> child = child_of(e);
      if (child && last[*child] != kNone) learn(thread, number(e), last[*child]);
    }
  }
}

EventNumber Component::happens_before_from(EventIndex e, TransactionIndex block) const {
  const std::vector<Growth>& growth = history_[transaction_thread_[block]].at(thread_of(e));
  const auto at = std::lower_bound(
      growth.begin(), growth.end(), ordinal_[e],
      [](const Growth& entry, std::uint32_t wanted) { return entry.events < wanted; });
  return std::max(at->at, transactions_[block].first);
}

}  // namespace syndrome::check
