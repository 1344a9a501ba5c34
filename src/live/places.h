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

/// Behind which event of the trace what has a position of a slot comes, and whose it is. Positions
/// grow, and so do events, but not each position has an event of its own (event/quiet.h): what is
/// between two that are known is behind the event of the first.
class Places {
 public:
  struct Place {
    ThreadId thread;
    EventNumber event = 0;
    std::uint64_t position = 0;  // of that event
  };

  /// The first event of a thread is behind the last one of the thread that had the slot before.
  void set(std::uint64_t position, ThreadId thread, EventNumber event) {
    if (owners_.empty() || owners_.back().thread != thread) owners_.push_back({position, thread});
    // Untrusted.
    if (count_ != 0 && position <= last_.position) return;
    add({position, std::max(event, last_.event)});
  }
  /// The last one known, if that position is not.
  [[nodiscard]] Place at(std::uint64_t position) const {
    if (count_ == 0) return {};
    const auto next = std::ranges::upper_bound(bases_, position, {}, &Step::position);
    Step found = next == bases_.begin() ? bases_.front() : *(next - 1);
    const std::size_t base =
        next == bases_.begin() ? 0 : static_cast<std::size_t>(next - bases_.begin()) - 1;
    for (std::size_t i = base * kEvery + 1; i < std::min(count_, (base + 1) * kEvery); ++i) {
      const Step step = step_at(i, found);
      if (step.position > position) break;
      found = step;
    }
    const auto after = std::ranges::upper_bound(owners_, position, {}, &Owner::from);
    const ThreadId thread = after == owners_.begin() ? owners_.front().thread : (after - 1)->thread;
    return {thread, found.event, found.position};
  }

 private:
  struct Owner {
    std::uint64_t from;
    ThreadId thread;
  };
  struct Step {
    std::uint64_t position = 0;
    EventNumber event = 0;
  };
  struct Far {
    std::size_t at;
    Step step;
  };
  // Two bytes for each: there may be as many as events.
  struct Small {
    std::uint8_t positions;
    std::uint8_t events;
  };
  static constexpr std::size_t kEvery = 64;
  static constexpr std::uint8_t kFar = 255;  // Small::events: see far_

  void add(const Step& step) {
    const std::uint64_t positions = step.position - last_.position;
    const std::uint64_t events = step.event - last_.event;
    const bool far = positions > 255 || events >= kFar;
    if (count_ % kEvery == 0) {
      bases_.push_back(step);
    } else if (far) {
      far_.push_back({count_, step});
    }
    steps_.push_back(
        far ? Small{0, kFar}
            : Small{static_cast<std::uint8_t>(positions), static_cast<std::uint8_t>(events)});
    ++count_;
    last_ = step;
  }
  [[nodiscard]] Step step_at(std::size_t at, const Step& before) const {
    const Small small = steps_[at];
    if (small.events == kFar) return std::ranges::lower_bound(far_, at, {}, &Far::at)->step;
    return {before.position + small.positions, before.event + small.events};
  }

  Step last_;
  std::size_t count_ = 0;
  std::deque<Small> steps_;
  std::vector<Step> bases_;  // each kEvery-th
  std::vector<Far> far_;     // steps that are longer than a byte says
  std::vector<Owner> owners_;
};

}  // namespace syndrome::live
