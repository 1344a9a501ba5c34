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
    const auto [at, added] = ids.try_emplace({*space, event(e).target, events_[e].round},
                                             static_cast<std::uint32_t>(objects_.size()));
    if (added) objects_.emplace_back();
    object_[e] = at->second;
    place_[e] = static_cast<std::uint32_t>(objects_[at->second].size());
    objects_[at->second].push_back(e);
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
    if (growth.empty() || growth.back().events < events) growth.push_back({at, events});
  };
  for (const auto& [other, growth] : history_[thread_of(e)]) {
    const auto after =
        std::upper_bound(growth.begin(), growth.end(), number(e),
                         [](EventNumber wanted, const Growth& entry) { return wanted < entry.at; });
    if (after != growth.begin()) grow(other, std::prev(after)->events);
  }
  grow(thread_of(e), ordinal_[e]);
}

void Component::order_events() {
  ordinal_.resize(events_.size());
  history_.resize(local_thread_.size());
  std::vector<EventIndex> last(local_thread_.size(), kNone);
  std::vector<EventIndex> forked_by(local_thread_.size(), kNone);
  std::map<std::pair<std::uint32_t, ThreadIndex>, std::uint32_t> last_wait;  // place in its object
  for (EventIndex e = 0; e < events_.size(); ++e) {
    const ThreadIndex thread = thread_of(e);
    const bool first = last[thread] == kNone;
    ordinal_[e] = first ? 1 : ordinal_[last[thread]] + 1;
    last[thread] = e;
    if (first && forked_by[thread] != kNone) learn(thread, number(e), forked_by[thread]);
    if (event(e).kind == EventKind::kWait || event(e).kind == EventKind::kCondWait) {
      // Nothing stands for all posts before it, so look only at those since this thread's last
      // wait.
      const std::vector<EventIndex>& list = objects_[object_[e]];
      std::uint32_t& waited = last_wait[{object_[e], thread}];
      for (std::size_t i = waited; i < place_[e]; ++i) {
        if (conflict(list[i], e)) learn(thread, number(e), list[i]);
      }
      waited = place_[e];
    } else {
      for_each_before(
          e, [&](EventIndex f) { return thread_of(f) == thread; },
          [&](EventIndex f) { learn(thread, number(e), f); });
    }
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
