#include "explore/density.h"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

namespace syndrome::explore {
namespace {

/// Adds up counts that are sorted by key.
void append_sums(std::vector<Count>& sorted, std::vector<Count>& out) {
  const std::size_t begin = out.size();
  for (const Count& each : sorted) {
    if (out.size() > begin && out.back().key == each.key) {
      out.back().count += each.count;
    } else {
      out.push_back(each);
    }
  }
}

}  // namespace

Level coarser(const Level& level, std::uint64_t factor) {
  Level result;
  result.width = level.width * factor;
  std::vector<Count> together;
  for (std::size_t i = 0; i < level.size(); i += factor) {
    together.clear();
    for (std::size_t k = i; k < std::min<std::size_t>(i + factor, level.size()); ++k) {
      const std::span<const Count> bucket = level.bucket(k);
      together.insert(together.end(), bucket.begin(), bucket.end());
    }
    std::ranges::sort(together, {}, &Count::key);
    append_sums(together, result.counts);
    result.ends.push_back(result.counts.size());
  }
  return result;
}

std::vector<Level> pyramid(Level base) {
  constexpr std::size_t kFew = 256;
  std::vector<Level> levels;
  levels.push_back(std::move(base));
  while (levels.back().size() > kFew && levels.back().width * 4 <= kWidestBucket) {
    levels.push_back(coarser(levels.back(), 4));
  }
  return levels;
}

void DensityBuilder::wait(ThreadId thread, EventNumber after, EventNumber until) {
  add(key_of(thread, kWaits), 1);
  // The positions after + 1 … until - 1, bucket by bucket.
  const std::uint64_t open = level_.size();
  EventNumber at = after + 1;
  while (at < until) {
    const std::uint64_t bucket = (at - 1) / level_.width;
    const EventNumber end = std::min<EventNumber>(until, (bucket + 1) * level_.width + 1);
    const Count count{key_of(thread, kWaited), static_cast<std::uint32_t>(end - at)};
    if (bucket == open) {
      add(count.key, count.count);
    } else {
      late_.push_back({bucket, count});
    }
    at = end;
  }
}

/// The open bucket becomes a closed one.
void DensityBuilder::put_away() {
  std::ranges::sort(touched_);
  for (const std::uint32_t key : touched_) {
    level_.counts.push_back({key, std::exchange(cells_[key], 0)});
  }
  touched_.clear();
  level_.ends.push_back(level_.counts.size());
  filled_ = 0;
}

/// The last closed bucket is the open one again: the next event still belongs to it.
void DensityBuilder::reopen_last() {
  for (const Count& each : level_.bucket(level_.size() - 1)) add(each.key, each.count);
  level_.ends.pop_back();
  level_.counts.resize(level_.ends.empty() ? 0 : level_.ends.back());
}

void DensityBuilder::close() {
  put_away();
  while (level_.counts.size() + late_.size() > most_ && level_.size() > 1 &&
         level_.width < kWidestBucket) {
    merge_late();
    const bool half = level_.size() % 2 != 0;
    const std::uint64_t width = level_.width;
    level_ = coarser(level_, 2);
    if (!half) continue;
    // One that is half full cannot stay closed.
    reopen_last();
    filled_ = width;
    break;
  }
}

void DensityBuilder::merge_late() {
  if (late_.empty()) return;
  std::ranges::sort(late_, {},
                    [](const Late& each) { return std::make_tuple(each.bucket, each.count.key); });
  Level merged;
  merged.width = level_.width;
  std::size_t next = 0;
  std::vector<Count> together;
  for (std::size_t i = 0; i < level_.size(); ++i) {
    const std::span<const Count> bucket = level_.bucket(i);
    together.assign(bucket.begin(), bucket.end());
    const bool more = next < late_.size() && late_[next].bucket == i;
    for (; next < late_.size() && late_[next].bucket == i; ++next) {
      together.push_back(late_[next].count);
    }
    if (more) std::ranges::sort(together, {}, &Count::key);
    append_sums(together, merged.counts);
    merged.ends.push_back(merged.counts.size());
  }
  assert(next == late_.size());
  late_.clear();
  level_ = std::move(merged);
}

Level DensityBuilder::finish() {
  if (filled_ > 0) put_away();
  merge_late();
  return std::move(level_);
}

}  // namespace syndrome::explore
