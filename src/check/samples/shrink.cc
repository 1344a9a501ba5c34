#include "check/samples/shrink.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace syndrome::check {
namespace {

class Shrinker {
 public:
  Shrinker(std::vector<Event> events, const Shows& shows)
      : events_(std::move(events)), shows_(shows) {}

  std::vector<Event> run() {
    bool smaller = true;
    while (smaller) {
      smaller = drop_threads();
      smaller |= drop_runs();
      smaller |= drop_pairs();
      smaller |= merge(Space::kVariable);
      smaller |= merge(Space::kLock);
    }
    return std::move(events_);
  }

 private:
  /// Takes `candidate` if it is well-formed and shows it still.
  bool accept(std::vector<Event> candidate) {
    if (!set_flags(candidate) || !shows_(candidate)) return false;
    events_ = std::move(candidate);
    return true;
  }

  template <class Drop>
  bool accept_without(Drop drop) {
    std::vector<Event> candidate;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (!drop(i)) candidate.push_back(events_[i]);
    }
    return candidate.size() < events_.size() && accept(std::move(candidate));
  }

  bool drop_threads() {
    std::set<ThreadId> threads;
    for (const Event& event : events_) threads.insert(event.thread);
    bool smaller = false;
    for (const ThreadId thread : threads) {
      smaller |= accept_without([&](std::size_t i) {
        return events_[i].thread == thread ||
               (target_space(events_[i].kind) == Space::kThread && events_[i].child() == thread);
      });
    }
    return smaller;
  }

  /// Runs of halving length, down to single events.
  bool drop_runs() {
    bool smaller = false;
    for (std::size_t length = std::max<std::size_t>(events_.size() / 2, 1); length > 0;
         length /= 2) {
      for (std::size_t at = 0; at < events_.size();) {
        if (accept_without([&](std::size_t i) { return i >= at && i < at + length; })) {
          smaller = true;
        } else {
          at += length;
        }
      }
    }
    return smaller;
  }

  /// Two events that are well-formed only together: begin and end, acquire and release, fork and
  /// join, …
  bool drop_pairs() {
    bool smaller = false;
    for (std::size_t a = 0; a < events_.size(); ++a) {
      for (std::size_t b = a + 1; b < events_.size(); ++b) {
        if (events_[a].thread != events_[b].thread || events_[a].target != events_[b].target ||
            target_space(events_[a].kind) != target_space(events_[b].kind)) {
          continue;
        }
        if (accept_without([&](std::size_t i) { return i == a || i == b; })) {
          smaller = true;
          break;
        }
      }
    }
    return smaller;
  }

  /// Fewer names; this is progress because each merge removes one id for good.
  bool merge(Space space) {
    std::set<std::uint32_t> ids;
    for (const Event& event : events_) {
      if (target_space(event.kind) == space) ids.insert(event.target);
    }
    for (const std::uint32_t into : ids) {
      for (const std::uint32_t from : ids) {
        if (from <= into) continue;
        std::vector<Event> candidate = events_;
        for (Event& event : candidate) {
          if (target_space(event.kind) == space && event.target == from) event.target = into;
        }
        if (accept(std::move(candidate))) return true;
      }
    }
    return false;
  }

  std::vector<Event> events_;
  const Shows& shows_;
};

}  // namespace

SmallTrace shrink(const SmallTrace& trace, const Shows& shows) {
  return {Shrinker(trace.events, shows).run(), trace.names};
}

}  // namespace syndrome::check
