// Which thread of a recording goes on next.
//
// Two things are certain and kept: each thread's words are in its program order, and the
// synchronization of a shard is in the order of its versions (event/wire.h). Among threads that
// both allow to go on, the one with the smallest time does.

#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace syndrome::trace {

/// Threads go by numbers that the caller gives. Versions is as CaptureVersions in its second step.
template <class Versions>
class CaptureOrder {
 public:
  /// The thread can go on; its next words are of this time.
  void ready(std::size_t number, std::uint64_t time) {
    ready_.emplace_back(time, number);
    std::ranges::push_heap(ready_, std::greater());
    if (limit_ > time) limit_ = time;
  }

  /// The thread with the smallest time, which then is not ready any more; none when none is.
  [[nodiscard]] std::optional<std::size_t> next() {
    if (ready_.empty()) return std::nullopt;
    std::ranges::pop_heap(ready_, std::greater());
    const std::size_t number = ready_.back().second;
    ready_.pop_back();
    limit_ = ready_.empty() ? UINT64_MAX : ready_.front().first;
    return number;
  }
  /// The smallest time of those that are ready: beyond it, it is another one's turn.
  [[nodiscard]] std::uint64_t limit() const { return limit_; }

  /// The thread, whose time is `time`, must wait until the shard has come to this version.
  void wait(std::size_t number, std::uint64_t time, std::size_t shard, std::uint64_t version) {
    waiting_.emplace(std::pair(shard, version), number);
    by_time_.emplace(time, number);
    waits_[number] = {shard, version, time};
  }
  [[nodiscard]] bool anyone_waits() const { return !waiting_.empty(); }

  /// `version` of the shard has happened.
  void advance(Versions& versions, std::size_t shard, std::uint64_t version) {
    versions.advance(shard, version);
    const std::uint64_t awaited = versions.awaited(shard);
    for (;;) {
      const auto at = waiting_.lower_bound({shard, 0});
      if (at == waiting_.end() || at->first.first != shard || at->first.second > awaited) return;
      release(versions, at->second);
    }
  }

  /// Lets the one go on that has the smallest time of those that wait: what it waits for will not
  /// come. Requires anyone_waits().
  void release_first(Versions& versions) { release(versions, by_time_.begin()->second); }

 private:
  struct Wait {
    std::size_t shard = 0;
    std::uint64_t version = 0;
    std::uint64_t time = 0;
  };

  void release(Versions& versions, std::size_t number) {
    const Wait what = waits_[number];
    const auto [from, to] = waiting_.equal_range({what.shard, what.version});
    for (auto at = from; at != to; ++at) {
      if (at->second != number) continue;
      waiting_.erase(at);
      break;
    }
    by_time_.erase({what.time, number});
    while (versions.awaited(what.shard) < what.version) {
      versions.advance(what.shard, versions.awaited(what.shard));
    }
    ready(number, what.time);
  }

  std::vector<std::pair<std::uint64_t, std::size_t>> ready_;  // time and thread: a heap
  std::multimap<std::pair<std::size_t, std::uint64_t>, std::size_t> waiting_;
  std::set<std::pair<std::uint64_t, std::size_t>> by_time_;  // those that wait
  tsl::robin_map<std::size_t, Wait> waits_;
  std::uint64_t limit_ = 0;
};

}  // namespace syndrome::trace
