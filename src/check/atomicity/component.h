// A strongly connected component of the transaction graph, indexed for the search for cycles: the
// events of each transaction, the events on each object, and the order of events by conflicts.
//
// All paths between two of its transactions stay inside of it, so it is all that a search needs.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/atomicity/conflict.h"
#include "event/event.h"

namespace syndrome::check {

/// An event of the component. Events that order nothing between threads may be missing, but every
/// transaction has at least one event, and a block's first one is its begin.
struct ComponentEvent {
  EventNumber number = 0;
  Event event;
  std::uint32_t transaction = 0;  // index into the component's transactions
  std::uint32_t round = 0;        // of a barrier event
};

struct ComponentTransaction {
  ThreadId thread;
  EventNumber first = 0;  // a block's begin
  EventNumber last = 0;
  bool block = false;
};

class Component {
 public:
  using EventIndex = std::uint32_t;
  using TransactionIndex = std::uint32_t;
  using ThreadIndex = std::uint32_t;  // threads of the component, numbered from 0

  /// `events` in trace order; an event that conflicts by thread and join alone may come later than
  /// its number says, but not after the join.
  Component(std::vector<ComponentEvent> events, std::vector<ComponentTransaction> transactions);

  [[nodiscard]] std::size_t size() const { return transactions_.size(); }
  [[nodiscard]] const ComponentTransaction& transaction(TransactionIndex t) const {
    return transactions_[t];
  }
  [[nodiscard]] const Event& event(EventIndex e) const { return events_[e].event; }
  [[nodiscard]] EventNumber number(EventIndex e) const { return events_[e].number; }
  [[nodiscard]] TransactionIndex transaction_of(EventIndex e) const {
    return events_[e].transaction;
  }
  [[nodiscard]] ThreadIndex thread_of(EventIndex e) const {
    return transaction_thread_[transaction_of(e)];
  }
  [[nodiscard]] ThreadIndex thread_of_transaction(TransactionIndex t) const {
    return transaction_thread_[t];
  }
  [[nodiscard]] std::span<const EventIndex> events_of(TransactionIndex t) const {
    return {by_transaction_.data() + transaction_begin_[t],
            by_transaction_.data() + transaction_begin_[t + 1]};
  }
  /// A thread's transactions, in order, and the place of a transaction among them.
  [[nodiscard]] const std::vector<TransactionIndex>& transactions_of(ThreadIndex thread) const {
    return thread_transactions_[thread];
  }
  [[nodiscard]] std::size_t place_in_thread(TransactionIndex t) const {
    return place_in_thread_[t];
  }
  /// The thread that a fork or join is about, if it is in the component.
  [[nodiscard]] std::optional<ThreadIndex> child_of(EventIndex e) const;
  /// The events that join a thread.
  [[nodiscard]] const std::vector<EventIndex>& joins_of(ThreadIndex thread) const {
    return joins_of_[thread];
  }

  /// Whether e, which comes first, conflicts with f of another thread.
  [[nodiscard]] bool conflict(EventIndex e, EventIndex f) const {
    return conflicts(events_[e].event, events_[f].event, events_[e].round, events_[f].round);
  }

  /// The events by which a path can leave a transaction, in order: of all its events on an object
  /// that conflict with the same next ones, the first; and forks.
  [[nodiscard]] const std::vector<EventIndex>& ways_out(TransactionIndex t) const {
    return ways_out_[t];
  }
  /// Likewise the events by which a path can enter it, the last of each; and joins.
  [[nodiscard]] const std::vector<EventIndex>& ways_in(TransactionIndex t) const {
    return ways_in_[t];
  }

  /// Visits events of other threads after e (before e) on the same object that conflict with it,
  /// but for those of transaction `avoid`: enough of them that all further ones are reachable
  /// through one that was visited (reach e through one), without `avoid`. Counts `budget` down by
  /// the events looked at.
  template <class Visit>
  void for_each_after(EventIndex e, TransactionIndex avoid, std::uint64_t& budget,
                      Visit visit) const {
    for_each_after(e, avoid, budget, visit, nullptr);
  }
  /// What searches have visited already. A thread that writes a variable again and again, while
  /// others read it, would otherwise visit the same reads from each of its writes.
  class Visited {
   public:
    explicit Visited(const Component& component)
        : entries_(component.events_.size() + component.objects_.size()) {}
    /// From now on: events that are reached on paths that left the block at `left`.
    void begin(std::uint32_t search, EventNumber left) {
      search_ = search;
      left_ = left;
    }

   private:
    friend class Component;
    /// The events on an object from place `from` up to a strong one, from writes of `thread`.
    struct Entry {
      std::uint32_t search = 0;
      ThreadIndex thread = 0;
      EventNumber left = 0;
      std::size_t from = 0;
    };
    /// How many of the places from `first` to the strong event `stop` are still to be visited.
    [[nodiscard]] std::size_t news(std::size_t stop, ThreadIndex thread, std::size_t first,
                                   std::size_t end) {
      Entry& entry = entries_[stop];
      const bool same = entry.search == search_ && entry.thread == thread && entry.left <= left_;
      if (same && entry.from <= first) return 0;
      const std::size_t until = same ? std::min(entry.from, end) : end;
      if (same) {
        // Those behind were visited on paths that left no later; so are these, from now on.
        entry.left = left_;
        entry.from = first;
      } else {
        entry = {search_, thread, left_, first};
      }
      return until - first;
    }

    std::uint32_t search_ = 0;
    EventNumber left_ = 0;
    std::vector<Entry> entries_;  // by strong event, then by object for those without
  };
  /// The same but for what such a search has visited from another write of e's thread.
  template <class Visit>
  void for_each_after(EventIndex e, TransactionIndex avoid, std::uint64_t& budget, Visit visit,
                      Visited* visited) const;
  template <class Visit>
  void for_each_before(EventIndex e, std::uint64_t& budget, Visit visit) const;

  /// The number of the first event of `block` before which e, of another thread, happens (in the
  /// transitive closure of conflicts, the paper's CHB). There is one.
  [[nodiscard]] EventNumber happens_before_from(EventIndex e, TransactionIndex block) const;

  /// False when there are so many threads that what they know of each other would fill memory. Then
  /// happens_before_from may name a later event, and blocks seem strict that are only wide.
  [[nodiscard]] bool order_is_whole() const { return growths_ < kMostGrowths; }

 private:
  static constexpr std::uint32_t kNone = ~0U;
  static constexpr std::uint64_t kMostGrowths = 1U << 21U;  // about 200 MB with their maps

  /// From the event with number `at` on, so many of a thread's events are known to be before.
  struct Growth {
    EventNumber at = 0;
    std::uint32_t events = 0;
  };
  /// What a thread knows of the others, as it grew.
  using History = std::unordered_map<ThreadIndex, std::vector<Growth>>;

  void index_threads();
  void index_objects();
  void index_stops(const std::vector<EventIndex>& list);
  void index_ways();
  void order_events();
  void learn(ThreadIndex thread, EventNumber at, EventIndex e);
  void learn_from_object(EventIndex e, std::unordered_map<std::uint64_t, std::uint32_t>& taken);
  [[nodiscard]] bool knows(ThreadIndex thread, EventIndex e) const;

  std::vector<ComponentEvent> events_;
  std::vector<ComponentTransaction> transactions_;

  std::unordered_map<ThreadId, ThreadIndex> local_thread_;
  std::vector<ThreadIndex> transaction_thread_;
  std::vector<std::vector<TransactionIndex>> thread_transactions_;
  std::vector<std::uint32_t> place_in_thread_;
  std::vector<std::vector<EventIndex>> joins_of_;
  std::vector<EventIndex> by_transaction_;
  std::vector<std::size_t> transaction_begin_;

  // Events by what they touch; kNone for events that conflict by thread, fork and join alone.
  std::vector<std::uint32_t> object_;
  std::vector<std::uint32_t> place_;  // of an event in its object's list
  std::vector<std::vector<EventIndex>> objects_;
  // Places in the object's list: of the nearest strong event of another thread after (a write, an
  // acquire) and before (a write, a release); of the next strong one after, whatever its thread.
  // The list's size, or kNone before, where there is none.
  std::vector<std::uint32_t> stop_after_;
  std::vector<std::uint32_t> stop_before_;
  std::vector<std::uint32_t> next_strong_;
  std::vector<TransactionIndex> released_in_;  // of an acquire: the transaction that ends the hold
  std::vector<std::vector<EventIndex>> ways_out_;
  std::vector<std::vector<EventIndex>> ways_in_;

  std::vector<std::uint32_t> ordinal_;  // of an event in its thread, from 1
  std::vector<History> history_;        // by thread
  std::uint64_t growths_ = 0;
};

template <class Visit>
void Component::for_each_after(EventIndex e, TransactionIndex avoid, std::uint64_t& budget,
                               Visit visit, Visited* visited) const {
  if (object_[e] == kNone) return;
  const std::vector<EventIndex>& list = objects_[object_[e]];
  const ThreadIndex own = thread_of(e);
  const auto look = [&](EventIndex f) {
    if (budget > 0) --budget;
    const bool counts = thread_of(f) != own && transaction_of(f) != avoid && conflict(e, f);
    if (counts) visit(f);
    return counts;
  };
  // A read and a shared release conflict with strong events only.
  const bool strong_only =
      event(e).kind == EventKind::kRead || event(e).kind == EventKind::kReleaseShared;
  std::size_t i = place_[e] + 1;
  std::size_t stop = stop_after_[e];
  if (visited != nullptr && is_write(event(e).kind)) {
    const std::size_t strong = stop < list.size() ? list[stop] : events_.size() + object_[e];
    const std::size_t end = i + visited->news(strong, own, i, stop);
    for (; i < end && budget > 0; ++i) look(list[i]);
    i = stop;
  }
  while (budget > 0) {
    for (; !strong_only && i < stop && budget > 0; ++i) look(list[i]);
    if (stop >= list.size()) return;
    // Through an acquire, the next holders are reached where the hold ends.
    if (look(list[stop]) && released_in_[list[stop]] != avoid) return;
    i = stop + 1;
    stop = next_strong_[list[stop]];
  }
}

template <class Visit>
void Component::for_each_before(EventIndex e, std::uint64_t& budget, Visit visit) const {
  if (object_[e] == kNone) return;
  const std::vector<EventIndex>& list = objects_[object_[e]];
  const ThreadIndex own = thread_of(e);
  const std::uint32_t stop = stop_before_[e];
  // A read and a shared acquire conflict with strong events only.
  const bool strong_only =
      event(e).kind == EventKind::kRead || event(e).kind == EventKind::kAcquireShared;
  if (!strong_only) {
    const std::size_t from = stop == kNone ? 0 : stop + 1;
    for (std::size_t i = place_[e]; i-- > from && budget > 0;) {
      --budget;
      if (thread_of(list[i]) != own && conflict(list[i], e)) visit(list[i]);
    }
  }
  if (stop != kNone && conflict(list[stop], e)) visit(list[stop]);
}

}  // namespace syndrome::check
