// What an index answers, from the definitions (explore/follower.h, explore/density.h): by looking
// at every event of the trace for each question. For tests.

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "event/event.h"
#include "explore/explorer.h"

namespace syndrome::explore {

class Oracle {
 public:
  explicit Oracle(std::span<const Event> events) : events_(events) {}

  /// The number of the block's begin that event `n` is inside of; 0: none.
  [[nodiscard]] EventNumber block_of(EventNumber n) const {
    std::uint64_t depth = 0;
    EventNumber begin = 0;
    for (EventNumber i = 1; i <= n; ++i) {
      if (at(i).thread != at(n).thread) continue;
      if (at(i).kind == EventKind::kBegin && depth++ == 0) begin = i;
      if (at(i).kind == EventKind::kEnd && depth > 0) {
        --depth;
        if (i == n) return begin;
        if (depth == 0) begin = 0;
      }
    }
    return depth > 0 ? begin : 0;
  }

  /// The thread's last event before its acquire `n`, when that has waited; 0: it has not.
  [[nodiscard]] EventNumber waited_after(EventNumber n) const {
    if (at(n).kind != EventKind::kAcquire && at(n).kind != EventKind::kAcquireShared) return 0;
    bool released = false;
    for (EventNumber i = n - 1; i >= 1; --i) {
      if (at(i).thread == at(n).thread) return released ? i : 0;
      const bool release =
          at(i).kind == EventKind::kRelease || at(i).kind == EventKind::kReleaseShared;
      released |= release && at(i).target == at(n).target;
    }
    return 0;
  }

  [[nodiscard]] std::vector<Wait> waits() const {
    std::vector<Wait> all;
    for (EventNumber n = 1; n <= events_.size(); ++n) {
      if (const EventNumber after = waited_after(n)) {
        all.push_back({at(n).thread, at(n).lock(), after, n});
      }
    }
    return all;
  }

  [[nodiscard]] std::vector<BlockSpan> blocks() const {
    std::vector<BlockSpan> all;
    for (EventNumber n = 1; n <= events_.size(); ++n) {
      if (at(n).kind != EventKind::kBegin || block_of(n) != n) continue;
      BlockSpan span{at(n).thread, n, 0, at(n).label()};
      for (EventNumber e = n + 1; e <= events_.size() && span.end == 0; ++e) {
        if (at(e).thread != at(n).thread || at(e).kind != EventKind::kEnd) continue;
        std::uint64_t begins = 0;
        std::uint64_t ends = 0;
        for (EventNumber i = n; i <= e; ++i) {
          if (at(i).thread != at(n).thread) continue;
          begins += at(i).kind == EventKind::kBegin ? 1 : 0;
          ends += at(i).kind == EventKind::kEnd ? 1 : 0;
        }
        if (begins == ends) span.end = e;
      }
      all.push_back(span);
    }
    return all;
  }

  /// By key, as Explorer::counts. `inside` and `waits`: what the two above say of the trace.
  [[nodiscard]] std::map<std::uint32_t, std::uint64_t> counts(
      Range range, const std::vector<bool>& inside, const std::vector<Wait>& all_waits) const {
    std::map<std::uint32_t, std::uint64_t> sums;
    for (EventNumber n = range.from; n < range.to; ++n) {
      ++sums[key_of(at(n).thread, static_cast<std::uint32_t>(at(n).kind))];
      if (inside[n]) ++sums[key_of(at(n).thread, kInside)];
      for (const Wait& wait : all_waits) {
        if (wait.until == n) ++sums[key_of(wait.thread, kWaits)];
        if (wait.after < n && n < wait.until) ++sums[key_of(wait.thread, kWaited)];
      }
    }
    return sums;
  }

 private:
  [[nodiscard]] const Event& at(EventNumber n) const { return events_[n - 1]; }
  std::span<const Event> events_;
};

}  // namespace syndrome::explore
