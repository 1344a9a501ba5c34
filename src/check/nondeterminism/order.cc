#include "check/nondeterminism/order.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "clock/barrier_rounds.h"

namespace syndrome::check {

void ByThread::fill(std::size_t keys, std::vector<std::pair<std::uint32_t, Index>> pairs,
                    std::span<const std::uint32_t> thread_of) {
  std::ranges::sort(pairs, {}, [&](const std::pair<std::uint32_t, Index>& pair) {
    return std::tuple(pair.first, thread_of[pair.second], pair.second);
  });
  std::vector<std::pair<std::uint32_t, OfThread>> groups;
  events_.reserve(pairs.size());
  for (const auto& [key, e] : pairs) {
    const auto at = static_cast<std::uint32_t>(events_.size());
    if (groups.empty() || groups.back().first != key ||
        groups.back().second.thread != thread_of[e]) {
      groups.push_back({key, {thread_of[e], at, at}});
    }
    ++groups.back().second.end;
    events_.push_back(e);
  }
  groups_.fill(keys, groups);
}

/// Goes through the trace once; then sorts what it has found by object and thread.
class Order::Builder {
 public:
  Builder(Order& into, std::span<const Event> events, std::span<const Precedence> precedences)
      : into_(into) {
    EventNumber number = 0;
    for (const Event& event : events) {
      ++number;
      if ((event.flags & kDropped) == 0) add(event, number);
    }
    into_.held_.push_back({});
    for (const Precedence& each : precedences) wait(index_of(each.after), index_of(each.before));
    structure();
    clocks();
  }

 private:
  struct Life {
    std::uint32_t location = kNoIndex;
    Index last = kNoIndex;                            // write
    Index renewal = kNoIndex;                         // the alloc or free with which it began
    std::unordered_map<std::uint32_t, Index> latest;  // access of each thread; if it may end
  };
  /// Signals so far: the last one of each thread. Earlier ones of a thread come before it.
  using Signals = std::vector<Index>;

  void add(const Event& event, EventNumber number) {
    const bool forks = target_space(event.kind) == Space::kThread;
    const std::size_t highest = std::max(event.thread.index(), forks ? event.child().index() : 0);
    if (into_.of_thread_.size() <= highest) into_.of_thread_.resize(highest + 1);
    std::vector<Index>& own = into_.of_thread_[event.thread.index()];
    const auto e = static_cast<Index>(into_.thread_.size());
    into_.number_.push_back(number);
    into_.thread_.push_back(event.thread.value);
    into_.position_.push_back(static_cast<std::uint32_t>(own.size()));
    into_.site_.push_back(event.site);
    own.push_back(e);
    kinds_.push_back((event.flags & kNested) != 0 ? EventKind::kFence : event.kind);
    into_.object_.push_back(event.target);
    if (kinds_.back() == EventKind::kAlloc || kinds_.back() == EventKind::kFree) {
      renewed_.emplace(event.target, true);
    }
  }

  [[nodiscard]] Index index_of(EventNumber number) const {
    return static_cast<Index>(std::ranges::lower_bound(into_.number_, number) -
                              into_.number_.begin());
  }

  void wait(Index e, Index earlier) {
    if (earlier == kNoIndex || into_.thread_[earlier] == into_.thread_[e]) return;
    waits_.emplace_back(e, earlier);
  }
  void wait_all(Index e, const Signals& signals) {
    for (const Index signal : signals) wait(e, signal);
  }
  void signal(Signals& signals, Index e) {
    for (Index& known : signals) {
      if (into_.thread_[known] == into_.thread_[e]) {
        known = e;
        return;
      }
    }
    signals.push_back(e);
  }

  void structure() {
    const std::size_t n = into_.size();
    into_.op_.assign(n, Op::kNothing);
    into_.partner_.assign(n, kNoIndex);
    into_.held_of_.assign(n, 0);
    into_.has_waits_.assign(n, false);
    fork_of_.assign(into_.threads(), kNoIndex);
    open_.resize(into_.threads());
    held_now_.assign(into_.threads(), 0);
    for (Index e = 0; e < n; ++e) {
      if (into_.position_[e] == 0) wait(e, fork_of_[into_.thread_[e]]);
      take(e);
      into_.held_of_[e] = held_now_[into_.thread_[e]];
    }
    into_.finals_.assign(into_.location_count_, kNoIndex);
    for (const auto& [variable, life] : lives_) {
      if (life.location != kNoIndex) into_.finals_[life.location] = life.last;
    }
    for (const auto& [e, earlier] : waits_) into_.has_waits_[e] = true;
    into_.waits_.fill(n, waits_);
    into_.acquires_.fill(into_.scopes_of_.size(), std::move(acquires_), into_.thread_);
    into_.writes_in_order_.fill(into_.location_count_, writes_);
    into_.writes_.fill(into_.location_count_, std::move(writes_), into_.thread_);
    for (auto& [key, read] : readers_) {
      if (key == kNoIndex) key = static_cast<std::uint32_t>(n + into_.object_[read]);
    }
    into_.readers_.fill(n + into_.location_count_, std::move(readers_), into_.thread_);
  }

  void take(Index e) {
    const std::uint32_t target = into_.object_[e];
    const std::uint32_t thread = into_.thread_[e];
    switch (kinds_[e]) {
      case EventKind::kRead:
      case EventKind::kWrite:
      case EventKind::kRmw: return access(e);
      case EventKind::kAlloc:
      case EventKind::kFree: return renew(e);
      case EventKind::kAcquire: return acquire(e, false);
      case EventKind::kAcquireShared: return acquire(e, true);
      case EventKind::kRelease:
      case EventKind::kReleaseShared: return release(e);
      case EventKind::kFork: fork_of_[target] = e; return;
      case EventKind::kJoin:
        wait(e, fork_of_[target]);
        // The thread has no events after this one.
        for (auto last = into_.of_thread_[target].rbegin(); last != into_.of_thread_[target].rend();
             ++last) {
          if (*last < e) {
            wait(e, *last);
            break;
          }
        }
        return;
      case EventKind::kPost: return signal(signals_[{0, target}], e);
      case EventKind::kWait: return wait_all(e, signals_[{0, target}]);
      case EventKind::kHappensBefore: return signal(signals_[{1, target}], e);
      case EventKind::kHappensAfter: return wait_all(e, signals_[{1, target}]);
      case EventKind::kCondSignal:
      case EventKind::kCondBroadcast: return signal(signals_[{2, target}], e);
      case EventKind::kCondWait: return wait_all(e, signals_[{2, target}]);
      case EventKind::kBarrierArrive: {
        const std::uint64_t round = rounds_.arrive(ThreadId(thread), BarrierId(target));
        const auto before = barriers_.find({target, round - 1});
        if (before != barriers_.end()) wait_all(e, before->second);
        return signal(barriers_[{target, round}], e);
      }
      case EventKind::kBarrierLeave:
        return wait_all(e, barriers_[{target, rounds_.leave(ThreadId(thread), BarrierId(target))}]);
      default: return;
    }
  }

  void access(Index e) {
    const EventKind kind = kinds_[e];
    Life& life = lives_[into_.object_[e]];
    if (life.location == kNoIndex) {
      life.location = static_cast<std::uint32_t>(into_.location_count_++);
    }
    if (life.renewal != kNoIndex) wait(e, life.renewal);
    if (renewed_.contains(into_.object_[e])) life.latest[into_.thread_[e]] = e;
    into_.object_[e] = life.location;
    into_.op_[e] = kind == EventKind::kRead    ? Op::kRead
                   : kind == EventKind::kWrite ? Op::kWrite
                                               : Op::kRmw;
    if (is_read(into_.op_[e])) {
      into_.partner_[e] = life.last;
      into_.reads_.push_back(e);
      readers_.emplace_back(life.last, e);
    }
    if (is_write(into_.op_[e])) {
      life.last = e;
      writes_.emplace_back(life.location, e);
    }
  }

  void renew(Index e) {
    Life& life = lives_[into_.object_[e]];
    if (life.renewal != kNoIndex) wait(e, life.renewal);
    for (const auto& [thread, access] : life.latest) wait(e, access);
    life = {};
    life.renewal = e;
  }

  void acquire(Index e, bool shared) {
    const std::uint32_t lock = into_.object_[e];
    if (into_.scopes_of_.size() <= lock) into_.scopes_of_.resize(lock + 1);
    const auto id = static_cast<std::uint32_t>(into_.scopes_.size());
    into_.scopes_.push_back({e, kNoIndex, lock, shared});
    into_.scopes_of_[lock].push_back(id);
    into_.op_[e] = shared ? Op::kAcquireShared : Op::kAcquire;
    into_.partner_[e] = id;
    acquires_.emplace_back(lock, e);
    open_[into_.thread_[e]].push_back(id);
    hold(into_.thread_[e]);
  }

  void release(Index e) {
    std::vector<std::uint32_t>& open = open_[into_.thread_[e]];
    const auto at = std::ranges::find_if(
        open, [&](std::uint32_t id) { return into_.scopes_[id].lock == into_.object_[e]; });
    if (at == open.end()) return;
    Scope& scope = into_.scopes_[*at];
    scope.release = e;
    into_.op_[e] = scope.shared ? Op::kReleaseShared : Op::kRelease;
    into_.partner_[e] = *at;
    open.erase(at);
    hold(into_.thread_[e]);
  }

  void hold(std::uint32_t thread) {
    const std::vector<std::uint32_t>& open = open_[thread];
    if (open.empty()) {
      held_now_[thread] = 0;
      return;
    }
    held_now_[thread] = static_cast<std::uint32_t>(into_.held_.size());
    into_.held_.push_back({static_cast<std::uint32_t>(into_.held_scopes_.size()),
                           static_cast<std::uint32_t>(open.size())});
    into_.held_scopes_.insert(into_.held_scopes_.end(), open.begin(), open.end());
  }

  void clocks() {
    const std::size_t width = into_.threads();
    if (width * width * sizeof(std::uint32_t) > kMostClockBytes) {
      into_.complete_ = false;
      return;
    }
    std::vector<std::vector<std::uint32_t>> now(width, std::vector<std::uint32_t>(width, 0));
    std::vector<std::uint32_t> row_now(width, 0);  // whose last row is up to date
    into_.rows_.assign(width, 0);                  // the first row knows nothing
    into_.row_of_.assign(into_.size(), 0);
    std::vector<std::uint32_t> learned(width);
    for (Index e = 0; e < into_.size(); ++e) {
      const std::uint32_t thread = into_.thread_[e];
      std::vector<std::uint32_t>& clock = now[thread];
      learned = clock;
      for (const Index earlier : into_.waits_for(e)) into_.join(earlier, learned.data());
      if (is_read(into_.op_[e]) && into_.partner_[e] != kNoIndex) {
        into_.join(into_.partner_[e], learned.data());
      }
      learned[thread] = clock[thread];
      const bool acquires = into_.op_[e] == Op::kAcquire || into_.op_[e] == Op::kAcquireShared;
      if (learned != clock || acquires) induce(e, learned);
      learned[thread] = clock[thread];
      if (learned != clock) {
        clock = learned;
        if ((into_.rows_.size() + width) * sizeof(std::uint32_t) > kMostClockBytes) {
          into_.complete_ = false;
          return;
        }
        row_now[thread] = static_cast<std::uint32_t>(into_.rows_.size() / width);
        into_.rows_.insert(into_.rows_.end(), clock.begin(), clock.end());
      }
      into_.row_of_[e] = row_now[thread];
    }
  }

  /// The induced edges into e, in a scope itself: of what it knows, no scope of the same lock is
  /// left open.
  void induce(Index e, std::vector<std::uint32_t>& clock) {
    const std::span<const std::uint32_t> own = into_.held(e);
    if (own.empty()) return;
    for (bool more = true; more;) {
      more = false;
      for (std::uint32_t thread = 0; thread < clock.size(); ++thread) {
        if (clock[thread] == 0 || thread == into_.thread_[e]) continue;
        const Index last = into_.of_thread_[thread][clock[thread] - 1];
        for (const std::uint32_t id : into_.held(last)) {
          const Scope& scope = into_.scopes_[id];
          const bool excluded = std::ranges::any_of(own, [&](std::uint32_t other) {
            return into_.scopes_[other].lock == scope.lock && exclude(into_.scopes_[other], scope);
          });
          if (!excluded || scope.release == kNoIndex) continue;
          into_.join(scope.release, clock.data());
          more = true;
          break;
        }
      }
    }
  }

  Order& into_;
  std::vector<EventKind> kinds_;                     // nested ones are fences: nothing
  std::unordered_map<std::uint32_t, bool> renewed_;  // variables with an alloc or free
  std::unordered_map<std::uint32_t, Life> lives_;    // by variable
  std::vector<Index> fork_of_;
  std::map<std::pair<int, std::uint32_t>, Signals> signals_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Signals> barriers_;
  clock::BarrierRounds rounds_;
  std::vector<std::vector<std::uint32_t>> open_;  // scopes of each thread
  std::vector<std::uint32_t> held_now_;
  std::vector<std::pair<std::uint32_t, Index>> waits_;
  std::vector<std::pair<std::uint32_t, Index>> acquires_;
  std::vector<std::pair<std::uint32_t, Index>> writes_;
  std::vector<std::pair<std::uint32_t, Index>> readers_;
};

Order::Order(std::span<const Event> events, std::span<const Precedence> precedences) {
  Builder(*this, events, precedences);
}

void Order::join_before(Index read, std::uint32_t* into) const {
  for (const Index earlier : waits_for(read)) join(earlier, into);
  if (position_[read] != 0) join(of_thread_[thread_[read]][position_[read] - 1], into);
}

}  // namespace syndrome::check
