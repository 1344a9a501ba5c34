// Where the positions of a program that follows its own accesses (event/sieve.h) are in the trace
// of what it told.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

  void set(std::uint64_t position, ThreadId thread, EventNumber event) {
    if (owners_.empty() || owners_.back().thread != thread) owners_.push_back({position, thread});
    if (first_ == 0) first_ = position;
    const std::size_t at = position - first_;
    // Untrusted: they come one after another.
    if (position < first_ || at > steps_.size() + kEvery) return;
    while (steps_.size() <= at) {
      if (steps_.size() % kEvery == 0) bases_.push_back(event);
      steps_.push_back(static_cast<std::uint32_t>(event - bases_.back()));
    }
  }
  /// The last one known, if that position is not.
  [[nodiscard]] Place at(std::uint64_t position) const {
    if (steps_.empty()) return {};
    const std::size_t at =
        std::min<std::size_t>(position < first_ ? 0 : position - first_, steps_.size() - 1);
    const auto after = std::ranges::upper_bound(owners_, first_ + at, {}, &Owner::from);
    return {after == owners_.begin() ? owners_.front().thread : (after - 1)->thread,
            bases_[at / kEvery] + steps_[at]};
  }

 private:
  struct Owner {
    std::uint64_t from;
    ThreadId thread;
  };
  static constexpr std::size_t kEvery = 4096;
  std::uint64_t first_ = 0;
  std::vector<std::uint32_t> steps_;  // from the base of each kEvery
  std::vector<EventNumber> bases_;
  std::vector<Owner> owners_;
};

}  // namespace syndrome::live
