// Where the positions of a program that follows its own accesses (event/sieve.h) are in the trace
// of what it told.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "event/event.h"

namespace syndrome::live {

/// Behind which event of the trace what has a position of a slot comes, and whose it is.
class Places {
 public:
  struct Place {
    ThreadId thread;
    EventNumber event = 0;
  };

  /// Positions come one after another, and so do events; the first event of a thread is behind the
  /// last one of the thread that had the slot before.
  void set(std::uint64_t position, ThreadId thread, EventNumber event) {
    if (owners_.empty() || owners_.back().thread != thread) owners_.push_back({position, thread});
    if (first_ == 0) first_ = position;
    // Untrusted: no further ahead than a few.
    if (position < first_ || position - first_ > steps_.size() + kEvery) return;
    event = std::max(event, last_);
    while (steps_.size() <= position - first_) add(event);
  }
  /// The last one known, if that position is not.
  [[nodiscard]] Place at(std::uint64_t position) const {
    if (steps_.empty()) return {};
    const std::size_t at =
        std::min<std::size_t>(position < first_ ? 0 : position - first_, steps_.size() - 1);
    const auto after = std::ranges::upper_bound(owners_, first_ + at, {}, &Owner::from);
    const ThreadId thread = after == owners_.begin() ? owners_.front().thread : (after - 1)->thread;
    return {thread, event_at(at)};
  }

 private:
  struct Owner {
    std::uint64_t from;
    ThreadId thread;
  };
  struct Far {
    std::size_t at;
    EventNumber event;
  };
  // A byte for each position: there may be as many as events.
  static constexpr std::size_t kEvery = 64;
  static constexpr std::uint8_t kFar = 255;

  void add(EventNumber event) {
    const EventNumber step = event - last_;
    if (steps_.size() % kEvery == 0) {
      bases_.push_back(event);
    } else if (step >= kFar) {
      far_.push_back({steps_.size(), event});
    }
    steps_.push_back(static_cast<std::uint8_t>(std::min<EventNumber>(step, kFar)));
    last_ = event;
  }
  [[nodiscard]] EventNumber event_at(std::size_t at) const {
    EventNumber event = bases_[at / kEvery];
    for (std::size_t i = at / kEvery * kEvery + 1; i <= at; ++i) {
      if (steps_[i] != kFar) {
        event += steps_[i];
      } else {
        event = std::ranges::lower_bound(far_, i, {}, &Far::at)->event;
      }
    }
    return event;
  }

  std::uint64_t first_ = 0;
  EventNumber last_ = 0;
  std::deque<std::uint8_t> steps_;
  std::vector<EventNumber> bases_;  // of each kEvery-th
  std::vector<Far> far_;            // steps that are longer than a byte says
  std::vector<Owner> owners_;
};

}  // namespace syndrome::live
