#include "explore/index.h"

#include <utility>

namespace syndrome::explore {

IndexBuilder::IndexBuilder(std::uint64_t first_width, std::size_t most_counts,
                           std::uint64_t first_stride, std::size_t most_open)
    : most_open_(most_open), density_(first_width, most_counts) {
  index_.stride = first_stride;
  index_.checkpoints.emplace_back();
}

void IndexBuilder::take(const Batch& batch) {
  for (const Event& event : batch.events) {
    if (index_.events % kSketchEvents == 0) index_.sketches.emplace_back();
    if (index_.events % index_.stride == 0 && index_.events > 0) checkpoint();
    const EventNumber number = ++index_.events;
    const Follower::Seen seen = follower_.take(number, event);
    density_.event(event, seen.inside);
    if (seen.waited_after != 0) {
      density_.wait(event.thread, seen.waited_after, number);
      add_wait({event.thread, event.lock(), seen.waited_after, number});
    }
    if (const auto space = target_space(event.kind)) {
      index_.sketches.back().add(Sketch::hash(*space, event.target));
    }
  }
}

/// Between the last event and the next one.
void IndexBuilder::checkpoint() {
  index_.checkpoints.push_back({follower_.open_blocks(), {}});
  open_ += index_.checkpoints.back().blocks.size();
  while (open_ > most_open_ && index_.checkpoints.size() > 1) {
    // Every second one goes. If that is the one in hand, the next comes when its turn is.
    std::vector<Checkpoint> kept;
    open_ = 0;
    for (std::size_t i = 0; i < index_.checkpoints.size(); i += 2) {
      kept.push_back(std::move(index_.checkpoints[i]));
      open_ += kept.back().blocks.size() + kept.back().waits.size();
    }
    index_.checkpoints = std::move(kept);
    index_.stride *= 2;
  }
}

/// To the checkpoints that it reaches over: those before events after + 1 … until.
void IndexBuilder::add_wait(const Wait& wait) {
  const std::uint64_t first = (wait.after + index_.stride - 1) / index_.stride;
  for (std::uint64_t i = first; i * index_.stride < wait.until; ++i) {
    index_.checkpoints[i].waits.push_back(wait);
    ++open_;
  }
}

Index IndexBuilder::finish() {
  index_.base = density_.finish();
  return std::move(index_);
}

}  // namespace syndrome::explore
