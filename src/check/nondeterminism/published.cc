#include "check/nondeterminism/published.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "clock/barrier_rounds.h"

namespace syndrome::check {
namespace {

/// By thread: how many of its events are known.
using Clock = std::vector<std::uint32_t>;

void join(Clock& into, const Clock& other) {
  if (into.size() < other.size()) into.resize(other.size(), 0);
  for (std::size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

std::uint32_t known(const Clock& clock, std::uint32_t thread) {
  return thread < clock.size() ? clock[thread] : 0;
}

class Publication {
 public:
  explicit Publication(const Layout& layout) : layout_(layout) {}

  void take(const Event& event, EventNumber number) {
    const std::uint32_t thread = event.thread.value;
    Thread& own = thread_of(thread);
    own.last = number;
    const std::uint32_t position = ++own.events;
    if (own.clock.size() <= thread) own.clock.resize(thread + 1, 0);
    own.clock[thread] = position;
    if ((event.flags & kNested) != 0) return;
    switch (event.kind) {
      case EventKind::kRead:
      case EventKind::kWrite:
      case EventKind::kRmw: return access(event, number, position);
      case EventKind::kFork: join(thread_of(event.child().value).clock, own.clock); return;
      case EventKind::kJoin: {
        const Clock child = thread_of(event.child().value).clock;
        join(thread_of(thread).clock, child);
        return;
      }
      case EventKind::kHappensBefore: return join(annotated_[event.target], own.clock);
      case EventKind::kHappensAfter: return join(own.clock, annotated_[event.target]);
      case EventKind::kBarrierArrive:
        return join(barriers_[{event.target, rounds_.arrive(event.thread, event.barrier())}],
                    own.clock);
      case EventKind::kBarrierLeave:
        return join(own.clock,
                    barriers_[{event.target, rounds_.leave(event.thread, event.barrier())}]);
      default: return;
    }
  }

  [[nodiscard]] std::vector<Precedence> result() { return std::move(found_); }

 private:
  struct Thread {
    Clock clock;
    std::uint32_t events = 0;
    EventNumber last = 0;
  };
  struct Allocation {
    std::uint32_t maker = 0;
    std::uint32_t position = 0;         // of its first access, among the maker's events
    std::vector<std::uint32_t> others;  // that have had their first access
  };

  Thread& thread_of(std::uint32_t thread) {
    if (threads_.size() <= thread) threads_.resize(thread + 1);
    return threads_[thread];
  }

  void access(const Event& event, EventNumber number, std::uint32_t position) {
    const std::uint32_t thread = event.thread.value;
    Clock& clock = threads_[thread].clock;
    const std::size_t variable = event.target;
    const std::uint32_t region =
        variable < layout_.variables.size() ? layout_.variables[variable].region : 0;
    if (region != 0 && region < layout_.regions.size() && !layout_.regions[region].global) {
      const auto [at, is_new] = allocations_.try_emplace(region, Allocation{thread, position, {}});
      Allocation& allocation = at->second;
      if (!is_new && allocation.maker != thread &&
          std::ranges::find(allocation.others, thread) == allocation.others.end()) {
        allocation.others.push_back(thread);
        if (known(clock, allocation.maker) < allocation.position) {
          const Thread& maker = threads_[allocation.maker];
          found_.push_back({maker.last, number});
          join(clock, maker.clock);
        }
      }
    }
    // What it reads it may read otherwise, but nothing behind it does.
    if (event.kind != EventKind::kWrite) {
      if (const auto write = writes_.find(event.target); write != writes_.end()) {
        join(clock, write->second);
      }
    }
    if (event.kind != EventKind::kRead) writes_[event.target] = clock;
  }

  const Layout& layout_;
  std::deque<Thread> threads_;                                 // whose places stay as more come
  std::unordered_map<std::uint32_t, Allocation> allocations_;  // by region
  std::unordered_map<std::uint32_t, Clock> writes_;            // by variable: the last one
  std::unordered_map<std::uint32_t, Clock> annotated_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Clock> barriers_;  // and round
  clock::BarrierRounds rounds_;
  std::vector<Precedence> found_;
};

}  // namespace

std::vector<Precedence> published(std::span<const Event> events, const Layout& layout) {
  if (layout.regions.size() <= 1) return {};
  Publication publication(layout);
  for (EventNumber number = 1; number <= events.size(); ++number) {
    const Event& event = events[number - 1];
    if ((event.flags & kDropped) == 0) publication.take(event, number);
  }
  return publication.result();
}

}  // namespace syndrome::check
