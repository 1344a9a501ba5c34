#include "check/races/oracle.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "clock/barrier_rounds.h"

namespace syndrome::check {
namespace {

constexpr bool is_access(EventKind kind) {
  return kind == EventKind::kRead || kind == EventKind::kWrite || kind == EventKind::kRmw;
}
constexpr bool reads(EventKind kind) {
  return kind == EventKind::kRead || kind == EventKind::kRmw;
}
constexpr bool writes(EventKind kind) {
  return kind == EventKind::kWrite || kind == EventKind::kRmw;
}

class Definition {
 public:
  explicit Definition(std::span<const Event> events)
      : events_(events),
        before_(events.size(), std::vector<bool>(events.size(), false)),
        round_(events.size(), 0) {
    number_rounds();
    for (std::size_t f = 0; f < events_.size(); ++f) {
      for (std::size_t e = 0; e < f; ++e) {
        if (!dropped(e) && !dropped(f) && ordered_directly(events_[e], events_[f], e, f)) {
          before_[f][e] = true;
        }
      }
    }
    for (std::size_t b = 0; b < events_.size(); ++b) synchronize(b);
    close();
  }

  [[nodiscard]] std::vector<std::vector<bool>> take_before() { return std::move(before_); }

  [[nodiscard]] RaceOracle races() const {
    RaceOracle result;
    for (std::size_t e = 0; e < events_.size(); ++e) {
      for (std::size_t f = e + 1; f < events_.size(); ++f) {
        if (!race(e, f)) continue;
        result.all.push_back({e + 1, f + 1});
        if (is_last(e, f)) result.last.push_back({e + 1, f + 1});
      }
    }
    return result;
  }

 private:
  [[nodiscard]] bool dropped(std::size_t e) const { return (events_[e].flags & kDropped) != 0; }
  [[nodiscard]] bool counts(std::size_t e, EventKind kind) const {
    return events_[e].flags == 0 && events_[e].kind == kind;
  }

  void number_rounds() {
    clock::BarrierRounds rounds;
    for (std::size_t e = 0; e < events_.size(); ++e) {
      const Event& event = events_[e];
      if (dropped(e)) continue;
      if (event.kind == EventKind::kBarrierArrive) {
        round_[e] = rounds.arrive(event.thread, event.barrier());
      } else if (event.kind == EventKind::kBarrierLeave) {
        round_[e] = rounds.leave(event.thread, event.barrier());
      }
    }
  }

  /// All but atomics; e comes first.
  [[nodiscard]] bool ordered_directly(const Event& e, const Event& f, std::size_t at_e,
                                      std::size_t at_f) const {
    if (e.thread == f.thread) return true;
    if (e.kind == EventKind::kFork && e.child() == f.thread) return true;
    if (f.kind == EventKind::kJoin && f.child() == e.thread) return true;
    if (e.kind == EventKind::kFork && f.kind == EventKind::kJoin && e.child() == f.child()) {
      return true;
    }
    if (e.flags != 0 || f.flags != 0 || e.target != f.target) return false;
    switch (e.kind) {
      case EventKind::kRelease:
        return f.kind == EventKind::kAcquire || f.kind == EventKind::kAcquireShared;
      case EventKind::kReleaseShared: return f.kind == EventKind::kAcquire;
      case EventKind::kBarrierArrive:
        return f.kind == EventKind::kBarrierLeave && round_[at_e] == round_[at_f];
      case EventKind::kPost: return f.kind == EventKind::kWait;
      case EventKind::kHappensBefore: return f.kind == EventKind::kHappensAfter;
      default: return false;
    }
  }

  /// The write that is before `f` in the modification order of f's variable: the last one of this
  /// life of the variable.
  [[nodiscard]] std::optional<std::size_t> write_before(std::size_t f) const {
    for (std::size_t e = f; e-- > 0;) {
      if (dropped(e)) continue;
      const EventKind kind = events_[e].kind;
      if (target_space(kind) != Space::kVariable || events_[e].target != events_[f].target) {
        continue;
      }
      if (kind == EventKind::kAlloc || kind == EventKind::kFree) return std::nullopt;
      if (writes(kind)) return e;
    }
    return std::nullopt;
  }

  /// The edges "synchronizes with" that an atomic read b takes part in.
  void synchronize(std::size_t b) {
    const Event& read = events_[b];
    if (dropped(b) || !reads(read.kind) || !is_atomic(read)) return;
    std::vector<std::size_t> targets;
    if (acquires(order_of(read))) targets.push_back(b);
    for (std::size_t g = b + 1; g < events_.size(); ++g) {
      if (counts(g, EventKind::kFence) && events_[g].thread == read.thread &&
          acquires(order_of(events_[g]))) {
        targets.push_back(g);
      }
    }
    // x heads a release sequence, real or hypothetical, that has what b reads in it: b's write, and
    // as long as that is an rmw, the one before it.
    for (std::optional<std::size_t> x = write_before(b); x; x = write_before(*x)) {
      const Event& write = events_[*x];
      if (!is_atomic(write)) break;
      if (releases(order_of(write))) link(*x, targets);
      for (std::size_t f = 0; f < *x; ++f) {
        if (counts(f, EventKind::kFence) && events_[f].thread == write.thread &&
            releases(order_of(events_[f]))) {
          link(f, targets);
        }
      }
      if (write.kind != EventKind::kRmw) break;
    }
  }

  void link(std::size_t from, const std::vector<std::size_t>& targets) {
    for (const std::size_t to : targets) before_[to][from] = true;
  }

  void close() {
    for (std::size_t f = 0; f < events_.size(); ++f) {
      for (std::size_t e = f; e-- > 0;) {
        if (!before_[f][e]) continue;
        for (std::size_t d = 0; d < e; ++d) {
          if (before_[e][d]) before_[f][d] = true;
        }
      }
    }
  }

  /// Whether the variable is another one at f than at e.
  [[nodiscard]] bool renewed(std::size_t e, std::size_t f) const {
    for (std::size_t at = e + 1; at < f; ++at) {
      if ((counts(at, EventKind::kAlloc) || counts(at, EventKind::kFree)) &&
          events_[at].target == events_[e].target) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool race(std::size_t e, std::size_t f) const {
    const Event& a = events_[e];
    const Event& b = events_[f];
    return !dropped(e) && !dropped(f) && is_access(a.kind) && is_access(b.kind) &&
           a.target == b.target && a.thread != b.thread && (writes(a.kind) || writes(b.kind)) &&
           !(is_atomic(a) && is_atomic(b)) && !before_[f][e] && !renewed(e, f);
  }

  [[nodiscard]] bool is_last(std::size_t e, std::size_t f) const {
    for (std::size_t later = e + 1; later < f; ++later) {
      const Event& a = events_[e];
      const Event& b = events_[later];
      if (!dropped(later) && a.thread == b.thread && a.kind == b.kind && a.target == b.target &&
          a.site == b.site && is_atomic(a) == is_atomic(b)) {
        return false;
      }
    }
    return true;
  }

  std::span<const Event> events_;
  std::vector<std::vector<bool>> before_;  // [f][e]
  std::vector<std::uint64_t> round_;       // of each barrier event
};

}  // namespace

RaceOracle race_oracle(std::span<const Event> events) {
  return Definition(events).races();
}

std::vector<std::vector<bool>> happens_before_oracle(std::span<const Event> events) {
  return Definition(events).take_before();
}

}  // namespace syndrome::check
