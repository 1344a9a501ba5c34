// A vector clock whose time is the trace's own: the entry of a slot is the number of the last event
// of that slot which the clock knows of. So an entry names an event, and nothing has to be counted.
//
// A slot stands for a thread, or for several that came one after another (check/races/).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "event/ids.h"

namespace syndrome::clock {

class VectorClock {
 public:
  [[nodiscard]] EventNumber operator[](std::size_t slot) const {
    return slot < entries_.size() ? entries_[slot] : 0;
  }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  void set(std::size_t slot, EventNumber number) {
    if (slot >= entries_.size()) entries_.resize(slot + 1, 0);
    entries_[slot] = number;
  }

  /// The greater of both, entry by entry.
  void join(const VectorClock& other) {
    if (other.entries_.size() > entries_.size()) entries_.resize(other.entries_.size(), 0);
    EventNumber* const into = entries_.data();
    const EventNumber* const from = other.entries_.data();
    for (std::size_t i = 0, n = other.entries_.size(); i < n; ++i) {
      into[i] = std::max(into[i], from[i]);
    }
  }

  /// Forgets everything, and keeps its memory.
  void clear() { entries_.clear(); }

 private:
  std::vector<EventNumber> entries_;
};

}  // namespace syndrome::clock
