// How much happened where: counts by thread and fact in buckets of consecutive events, and coarser
// levels above them.
//
// Bucket i of a level has the events i * width + 1 … (i + 1) * width. Counts are sparse: what did
// not happen takes no room. A builder that has counted more than it may keep makes its buckets
// twice as wide, so that memory is bounded whatever the trace is.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "event/event.h"

namespace syndrome::explore {

/// What is counted of a thread: its events by kind (as EventKind numbers them), and
enum Fact : std::uint32_t {
  kInside = kEventKindCount,  // events inside of a block
  kWaits,                     // acquires that have waited
  kWaited,                    // positions at which it stood still for a lock
  kFactCount,
};
/// A thread and a fact in one number.
inline constexpr std::uint32_t kKeysPerThread = 32;
static_assert(kFactCount <= kKeysPerThread);
inline constexpr std::uint32_t kMostThreads = UINT32_MAX / kKeysPerThread;
[[nodiscard]] constexpr std::uint32_t key_of(ThreadId thread, std::uint32_t fact) {
  return thread.value * kKeysPerThread + fact;
}
[[nodiscard]] constexpr ThreadId thread_of(std::uint32_t key) {
  return ThreadId(key / kKeysPerThread);
}
[[nodiscard]] constexpr std::uint32_t fact_of(std::uint32_t key) {
  return key % kKeysPerThread;
}

/// A count never exceeds the width of its bucket, which fits into 31 bits.
inline constexpr std::uint64_t kWidestBucket = std::uint64_t{1} << 31U;

struct Count {
  std::uint32_t key = 0;
  std::uint32_t count = 0;
  friend bool operator==(const Count&, const Count&) = default;
};

struct Level {
  std::uint64_t width = 1;          // a power of two
  std::vector<std::uint64_t> ends;  // of each bucket, in `counts`
  std::vector<Count> counts;        // of each bucket ascending by key, none of them 0

  [[nodiscard]] std::size_t size() const { return ends.size(); }
  [[nodiscard]] std::span<const Count> bucket(std::size_t i) const {
    const std::uint64_t begin = i == 0 ? 0 : ends[i - 1];
    return std::span(counts).subspan(begin, ends[i] - begin);
  }
  friend bool operator==(const Level&, const Level&) = default;
};

/// `factor` buckets in one.
[[nodiscard]] Level coarser(const Level& level, std::uint64_t factor);

/// The level itself and those above it, each four times as wide as the one before, until one has
/// few buckets. Four, so that all of them together stay within a few times the first even where
/// nothing adds up.
[[nodiscard]] std::vector<Level> pyramid(Level base);

class DensityBuilder {
 public:
  /// At most about `most` counts are kept; `width` is that of the buckets to begin with.
  DensityBuilder(std::uint64_t width, std::size_t most) : most_(most) { level_.width = width; }

  /// Once for each event, in order.
  void event(const Event& event, bool inside) {
    if (filled_ == level_.width) close();
    ++filled_;
    add(key_of(event.thread, static_cast<std::uint32_t>(event.kind)), 1);
    if (inside) add(key_of(event.thread, kInside), 1);
  }
  /// Of the event that came last.
  void wait(ThreadId thread, EventNumber after, EventNumber until);

  [[nodiscard]] Level finish();

 private:
  struct Late {
    std::uint64_t bucket = 0;
    Count count;
  };
  void add(std::uint32_t key, std::uint32_t count) {
    if (key >= cells_.size()) cells_.resize(std::size_t{key} + kKeysPerThread);
    if (cells_[key] == 0) touched_.push_back(key);
    cells_[key] += count;
  }
  void close();
  void put_away();
  void reopen_last();
  void merge_late();

  std::size_t most_;
  Level level_;                         // of the closed buckets
  std::vector<Late> late_;              // what was learned of closed buckets
  std::vector<std::uint32_t> cells_;    // of the open bucket, by key
  std::vector<std::uint32_t> touched_;  // keys whose cell is not 0
  std::uint64_t filled_ = 0;            // events in the open bucket
};

}  // namespace syndrome::explore
