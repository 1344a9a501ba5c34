#include "check/atomicity/cycle_search.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "check/atomicity/conflict.h"

namespace syndrome::check {

namespace {
constexpr std::uint32_t kNone = ~0U;

/// A conflict between two transactions: indices into the component's events.
struct Hop {
  std::uint32_t from = kNone;
  std::uint32_t to = kNone;
};
}  // namespace

class CycleSearch::Impl {
 public:
  Impl(std::vector<ComponentEvent> events, std::vector<ComponentTransaction> transactions)
      : events_(std::move(events)), transactions_(std::move(transactions)) {
    index_threads();
    index_objects();
    order_events();
    label_.assign(transactions_.size(), {});
    back_.assign(transactions_.size(), {});
  }

  [[nodiscard]] std::size_t size() const { return transactions_.size(); }

  [[nodiscard]] std::optional<Cycle> find(std::uint32_t block, Sense sense, std::uint64_t& budget);

 private:
  using EventIndex = std::uint32_t;
  using TransactionIndex = std::uint32_t;

  /// The way back into the block from one transaction: by `hop`, which counts until `bound`: only a
  /// cycle that left before that number comes back later.
  struct WayBack {
    std::uint32_t search = 0;
    Hop hop;
    EventNumber bound = 0;
  };
  /// How a transaction was reached: by `hop`, on a path that left the block at event `left`.
  struct Label {
    std::uint32_t search = 0;
    EventNumber left = 0;
    Hop hop;
  };

  void index_threads();
  void index_objects();
  void order_events();

  [[nodiscard]] TransactionIndex transaction_of(EventIndex e) const {
    return events_[e].transaction;
  }
  [[nodiscard]] std::uint32_t thread_of(EventIndex e) const { return event_thread_[e]; }
  [[nodiscard]] std::span<const EventIndex> events_of(TransactionIndex t) const {
    return {&by_transaction_[transaction_begin_[t]], &by_transaction_[transaction_begin_[t + 1]]};
  }

  template <class Skip, class Visit>
  void for_each_after(EventIndex e, Skip skip, Visit visit) const;
  template <class Skip, class Visit>
  void for_each_before(EventIndex e, Skip skip, Visit visit) const;

  void find_ways_back(TransactionIndex block, Sense sense, std::uint64_t& budget);
  [[nodiscard]] EventNumber happens_before_from(EventIndex e, TransactionIndex block,
                                                EventIndex at) const;
  template <class Relax>
  void expand(TransactionIndex t, TransactionIndex block, std::uint64_t& budget, Relax relax) const;

  [[nodiscard]] bool is_conflict(EventIndex e, EventIndex f) const {
    return conflicts(events_[e].event, events_[f].event, events_[e].round, events_[f].round);
  }
  template <class Accept>
  [[nodiscard]] Hop direct(TransactionIndex a, TransactionIndex b, Accept accept) const;
  [[nodiscard]] Cycle minimal(TransactionIndex block, TransactionIndex last, Sense sense) const;

  std::vector<ComponentEvent> events_;
  std::vector<ComponentTransaction> transactions_;

  // Threads of the component, numbered from 0; each one's transactions in order.
  std::vector<std::uint32_t> event_thread_;
  std::vector<std::uint32_t> transaction_thread_;
  std::vector<std::vector<TransactionIndex>> thread_transactions_;
  std::vector<std::uint32_t> place_in_thread_;  // of a transaction
  std::unordered_map<ThreadId, std::uint32_t> local_thread_;
  std::vector<std::vector<EventIndex>> joins_of_;  // by thread: the events that join it

  std::vector<EventIndex> by_transaction_;
  std::vector<std::size_t> transaction_begin_;

  // Events by what they touch. object_[e] is kNone for events that conflict by thread alone.
  std::vector<std::uint32_t> object_;
  std::vector<std::uint32_t> place_;  // of an event in its object's list
  std::vector<std::vector<EventIndex>> objects_;

  // The order of events by conflicts (CHB): for each block, what it knew of each thread at its
  // begin, and each later growth of that, as (event, thread, how many events of that thread).
  struct Growth {
    EventNumber at;
    std::uint32_t thread;
    std::uint32_t events;
  };
  std::vector<std::uint32_t> ordinal_;  // of an event in its thread, from 1
  std::vector<std::vector<std::uint32_t>> known_at_begin_;
  std::vector<std::vector<Growth>> growth_;

  std::uint32_t search_ = 0;
  std::vector<Label> label_;
  std::vector<WayBack> back_;
  EventNumber latest_bound_ = 0;
};

void CycleSearch::Impl::index_threads() {
  event_thread_.resize(events_.size());
  transaction_thread_.resize(transactions_.size());
  place_in_thread_.resize(transactions_.size());
  for (TransactionIndex t = 0; t < transactions_.size(); ++t) {
    const auto [at, added] = local_thread_.try_emplace(
        transactions_[t].thread, static_cast<std::uint32_t>(local_thread_.size()));
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
    event_thread_[e] = transaction_thread_[events_[e].transaction];
    ++transaction_begin_[events_[e].transaction + 1];
    if (events_[e].event.kind == EventKind::kJoin) {
      const auto child = local_thread_.find(events_[e].event.child());
      if (child != local_thread_.end()) joins_of_[child->second].push_back(e);
    }
  }
  for (std::size_t t = 0; t < transactions_.size(); ++t) {
    transaction_begin_[t + 1] += transaction_begin_[t];
  }
  by_transaction_.resize(events_.size());
  std::vector<std::size_t> fill(transaction_begin_.begin(), transaction_begin_.end() - 1);
  for (EventIndex e = 0; e < events_.size(); ++e) by_transaction_[fill[transaction_of(e)]++] = e;
}

void CycleSearch::Impl::index_objects() {
  std::map<std::tuple<Space, std::uint32_t, std::uint32_t>, std::uint32_t> ids;
  object_.assign(events_.size(), kNone);
  place_.assign(events_.size(), 0);
  for (EventIndex e = 0; e < events_.size(); ++e) {
    const Event& event = events_[e].event;
    const std::optional<Space> space = target_space(event.kind);
    if (!space || *space == Space::kThread || *space == Space::kLabel) continue;
    const auto [at, added] = ids.try_emplace({*space, event.target, events_[e].round},
                                             static_cast<std::uint32_t>(objects_.size()));
    if (added) objects_.emplace_back();
    object_[e] = at->second;
    place_[e] = static_cast<std::uint32_t>(objects_[at->second].size());
    objects_[at->second].push_back(e);
  }
}

// Visits, for an event, conflicting events after it that are not skipped, nearest first, up to the
// first through which all further ones are reachable.
template <class Skip, class Visit>
void CycleSearch::Impl::for_each_after(EventIndex e, Skip skip, Visit visit) const {
  if (object_[e] == kNone) return;
  const std::vector<EventIndex>& list = objects_[object_[e]];
  for (std::size_t i = place_[e] + 1; i < list.size(); ++i) {
    const EventIndex f = list[i];
    if (skip(f) || !is_conflict(e, f)) continue;
    visit(f);
    const EventKind kind = events_[f].event.kind;
    if (is_write(kind) || kind == EventKind::kAcquire) return;
  }
}

template <class Skip, class Visit>
void CycleSearch::Impl::for_each_before(EventIndex e, Skip skip, Visit visit) const {
  if (object_[e] == kNone) return;
  const std::vector<EventIndex>& list = objects_[object_[e]];
  for (std::size_t i = place_[e]; i-- > 0;) {
    const EventIndex f = list[i];
    if (skip(f) || !is_conflict(f, e)) continue;
    visit(f);
    const EventKind kind = events_[f].event.kind;
    if (is_write(kind) || kind == EventKind::kRelease) return;
  }
}

void CycleSearch::Impl::order_events() {
  const std::size_t threads = thread_transactions_.size();
  using Clock = std::vector<std::uint32_t>;
  std::vector<Clock> of_thread(threads, Clock(threads));
  struct ObjectClocks {
    Clock strong;  // of writes, releases, arrivals, posts: what every later party takes in
    Clock weak;    // of reads and shared releases: what a later write or acquire takes in
  };
  std::vector<ObjectClocks> of_object(objects_.size());
  std::unordered_map<std::uint32_t, Clock> forked;
  const auto join = [threads](Clock& into, const Clock& from) {
    if (from.empty()) return;
    if (into.empty()) into.resize(threads);
    for (std::size_t i = 0; i < threads; ++i) into[i] = std::max(into[i], from[i]);
  };

  ordinal_.resize(events_.size());
  known_at_begin_.resize(transactions_.size());
  growth_.resize(transactions_.size());
  std::vector<std::uint32_t> count(threads);
  Clock before;
  for (EventIndex e = 0; e < events_.size(); ++e) {
    const std::uint32_t thread = thread_of(e);
    const Event& event = events_[e].event;
    Clock& clock = of_thread[thread];
    before = clock;
    ordinal_[e] = ++count[thread];
    clock[thread] = ordinal_[e];
    if (ordinal_[e] == 1) {
      if (const auto at = forked.find(thread); at != forked.end()) join(clock, at->second);
    }
    ObjectClocks* const object = object_[e] == kNone ? nullptr : &of_object[object_[e]];
    switch (event.kind) {
      case EventKind::kRead:
        join(clock, object->strong);
        join(object->weak, clock);
        break;
      case EventKind::kWrite:
      case EventKind::kRmw:
        join(clock, object->strong);
        join(clock, object->weak);
        object->strong = clock;
        object->weak.clear();
        break;
      case EventKind::kAcquire:
        join(clock, object->strong);
        join(clock, object->weak);
        break;
      case EventKind::kAcquireShared:
      case EventKind::kBarrierLeave:
      case EventKind::kWait:
      case EventKind::kCondWait: join(clock, object->strong); break;
      case EventKind::kRelease:
      case EventKind::kBarrierArrive:
      case EventKind::kPost:
      case EventKind::kCondSignal:
      case EventKind::kCondBroadcast: join(object->strong, clock); break;
      case EventKind::kReleaseShared: join(object->weak, clock); break;
      case EventKind::kFork:
        if (const auto at = local_thread_.find(event.child()); at != local_thread_.end()) {
          join(forked[at->second], clock);
        }
        break;
      case EventKind::kJoin:
        if (const auto at = local_thread_.find(event.child()); at != local_thread_.end()) {
          join(clock, of_thread[at->second]);
        }
        break;
      default: break;
    }
    const TransactionIndex t = transaction_of(e);
    if (!transactions_[t].block) continue;
    if (known_at_begin_[t].empty()) {
      known_at_begin_[t] = clock;
      continue;
    }
    for (std::uint32_t i = 0; i < threads; ++i) {
      if (clock[i] != before[i] && i != thread) {
        growth_[t].push_back({events_[e].number, i, clock[i]});
      }
    }
  }
}

// The first event of `block` before which `e` happens; `at` is one of them.
EventNumber CycleSearch::Impl::happens_before_from(EventIndex e, TransactionIndex block,
                                                   EventIndex at) const {
  const std::uint32_t thread = thread_of(e);
  if (known_at_begin_[block][thread] >= ordinal_[e]) return transactions_[block].first;
  for (const Growth& growth : growth_[block]) {
    if (growth.at >= events_[at].number) break;
    if (growth.thread == thread && growth.events >= ordinal_[e]) return growth.at;
  }
  return events_[at].number;
}

void CycleSearch::Impl::find_ways_back(TransactionIndex block, Sense sense, std::uint64_t& budget) {
  latest_bound_ = 0;
  const std::uint32_t own = transaction_thread_[block];
  const auto add = [&](EventIndex from, EventIndex to) {
    const EventNumber bound =
        sense == Sense::kWide ? events_[to].number : happens_before_from(from, block, to);
    WayBack& way = back_[transaction_of(from)];
    if (way.search == search_ && way.bound >= bound) return;
    way = {search_, {from, to}, bound};
    latest_bound_ = std::max(latest_bound_, bound);
  };
  for (const EventIndex e : events_of(block)) {
    if (budget == 0) return;
    --budget;
    for_each_before(
        e, [&](EventIndex f) { return thread_of(f) == own; },
        [&](EventIndex f) {
          if (budget > 0) --budget;
          add(f, e);
        });
    if (events_[e].event.kind != EventKind::kJoin) continue;
    const auto child = local_thread_.find(events_[e].event.child());
    if (child == local_thread_.end() || child->second == own) continue;
    add(events_of(thread_transactions_[child->second].back()).back(), e);
  }
}

template <class Relax>
void CycleSearch::Impl::expand(TransactionIndex t, TransactionIndex block, std::uint64_t& budget,
                               Relax relax) const {
  const auto skip = [&](EventIndex f) {
    return transaction_of(f) == block || transaction_of(f) == t;
  };
  const std::span<const EventIndex> events = events_of(t);
  for (const EventIndex e : events) {
    if (budget == 0) return;
    --budget;
    for_each_after(e, skip, [&](EventIndex f) {
      if (budget > 0) --budget;
      relax(Hop{e, f});
    });
    if (events_[e].event.kind == EventKind::kFork) {
      const auto child = local_thread_.find(events_[e].event.child());
      if (child == local_thread_.end()) continue;
      for (const TransactionIndex first : thread_transactions_[child->second]) {
        if (first == block || first == t) continue;
        if (transactions_[first].first > events_[e].number) {
          relax(Hop{e, events_of(first).front()});
          break;
        }
      }
    }
  }
  // Thread order, over the block if it comes next.
  const std::uint32_t thread = transaction_thread_[t];
  const std::vector<TransactionIndex>& siblings = thread_transactions_[thread];
  std::size_t next = place_in_thread_[t] + 1;
  if (next < siblings.size() && siblings[next] == block) ++next;
  if (next < siblings.size()) {
    relax(Hop{events.back(), events_of(siblings[next]).front()});
  } else {
    for (const EventIndex join : joins_of_[thread]) {
      if (!skip(join)) relax(Hop{events.back(), join});
    }
  }
}

std::optional<Cycle> CycleSearch::Impl::find(std::uint32_t block, Sense sense,
                                             std::uint64_t& budget) {
  if (!transactions_[block].block) return std::nullopt;
  ++search_;
  find_ways_back(block, sense, budget);
  if (latest_bound_ == 0) return std::nullopt;

  std::deque<std::pair<TransactionIndex, EventNumber>> queue;
  std::optional<TransactionIndex> hit;
  const auto reach = [&](EventNumber left, Hop hop) {
    if (hit || left >= latest_bound_) return;
    const TransactionIndex t = transaction_of(hop.to);
    Label& label = label_[t];
    if (label.search == search_ && label.left <= left) return;
    label = {search_, left, hop};
    if (back_[t].search == search_ && left < back_[t].bound) {
      hit = t;
      return;
    }
    queue.emplace_back(t, left);
  };

  // Leave the block at each of its events, in order: the earlier, the more ways back count.
  const std::uint32_t own = transaction_thread_[block];
  for (const EventIndex e : events_of(block)) {
    if (hit || budget == 0) break;
    for_each_after(
        e, [&](EventIndex f) { return thread_of(f) == own; },
        [&](EventIndex f) {
          if (budget > 0) --budget;
          reach(events_[e].number, {e, f});
        });
    if (events_[e].event.kind != EventKind::kFork) continue;
    const auto child = local_thread_.find(events_[e].event.child());
    if (child == local_thread_.end() || child->second == own) continue;
    reach(events_[e].number, {e, events_of(thread_transactions_[child->second].front()).front()});
  }
  while (!hit && !queue.empty() && budget > 0) {
    const auto [t, left] = queue.front();
    queue.pop_front();
    if (label_[t].left < left) continue;  // a better way came in between
    expand(t, block, budget, [&, from = left](Hop hop) { reach(from, hop); });
  }
  if (!hit) return std::nullopt;
  return minimal(block, *hit, sense);
}

// A conflict from a to b that is acceptable, preferably one that a reader understands: a write that
// the other sees, else an access, else a lock. None for two transactions of one thread, which are
// in thread order anyway.
template <class Accept>
Hop CycleSearch::Impl::direct(TransactionIndex a, TransactionIndex b, Accept accept) const {
  // Two long blocks have too many pairs to look at; then the conflict that was found has to do.
  constexpr std::size_t kMostPairs = 1U << 14U;
  Hop best;
  const std::span<const EventIndex> from = events_of(a);
  const std::span<const EventIndex> to = events_of(b);
  if (transaction_thread_[a] == transaction_thread_[b]) return best;
  if (from.size() * to.size() > kMostPairs) return best;
  for (const EventIndex e : from) {
    for (const EventIndex f : to) {
      if (f < e || !is_conflict(e, f) || !accept(Hop{e, f})) continue;
      if (is_write(events_[e].event.kind)) return {e, f};
      if (best.from != kNone && is_access(events_[best.from].event.kind)) continue;
      if (best.from == kNone || is_access(events_[e].event.kind)) best = {e, f};
    }
  }
  return best;
}

Cycle CycleSearch::Impl::minimal(TransactionIndex block, TransactionIndex last, Sense sense) const {
  // From the last transaction back to the block, then turned round: hops[i] goes from path[i] to
  // path[i + 1], and the block is both ends.
  std::vector<Hop> hops = {back_[last].hop};
  std::vector<TransactionIndex> path = {block, last};
  for (TransactionIndex t = last; t != block; t = path.back()) {
    hops.push_back(label_[t].hop);
    path.push_back(transaction_of(label_[t].hop.from));
  }
  std::reverse(path.begin(), path.end());
  std::reverse(hops.begin(), hops.end());

  // The cycle has to leave the block before the way back counts.
  const auto leaves_in_time = [&](Hop leave, Hop back) {
    const EventNumber bound = sense == Sense::kWide
                                  ? events_[back.to].number
                                  : happens_before_from(back.from, block, back.to);
    return events_[leave.from].number < bound;
  };
  // A direct conflict that jumps over transactions leaves them out; one that jumps over none may
  // still be easier to understand.
  const auto jump = [&](std::size_t i, std::size_t j) {
    return direct(path[i], path[j], [&](Hop hop) {
      if (i == 0) return leaves_in_time(hop, hops.back());
      return j + 1 < path.size() || leaves_in_time(hops.front(), hop);
    });
  };
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    // The block itself is no place to jump to from the block.
    for (std::size_t j = path.size() - (i == 0 ? 2 : 1); j > i; --j) {
      const Hop hop = jump(i, j);
      if (hop.from == kNone) continue;
      const auto at = [](auto& list, std::size_t k) {
        return list.begin() + static_cast<std::ptrdiff_t>(k);
      };
      hops.erase(at(hops, i + 1), at(hops, j));
      path.erase(at(path, i + 1), at(path, j));
      hops[i] = hop;
      break;
    }
  }

  Cycle cycle;
  cycle.block = transactions_[block].first;
  cycle.sense = sense;
  const auto add_site = [&](EventIndex e) {
    const SiteId site = events_[e].event.site;
    cycle.sites.push_back(site.value != 0 ? site.value
                                          : events_[e].number | (std::uint64_t{1} << 63U));
  };
  add_site(events_of(block).front());
  for (const Hop hop : hops) {
    cycle.edges.push_back({events_[hop.from].number, events_[hop.to].number});
    add_site(hop.from);
    add_site(hop.to);
  }
  return cycle;
}

CycleSearch::CycleSearch(std::vector<ComponentEvent> events,
                         std::vector<ComponentTransaction> transactions)
    : impl_(std::make_unique<Impl>(std::move(events), std::move(transactions))) {}
CycleSearch::~CycleSearch() = default;

std::size_t CycleSearch::transactions() const {
  return impl_->size();
}

std::optional<Cycle> CycleSearch::find(std::uint32_t transaction, Sense sense,
                                       std::uint64_t& budget) {
  return impl_->find(transaction, sense, budget);
}

}  // namespace syndrome::check
