// Which arrivals and leaves of a barrier belong together.

#pragma once

#include <cstdint>
#include <unordered_map>

#include "event/ids.h"

namespace syndrome::clock {

/// Tells the rounds of barriers apart. An arrival joins the open round of its barrier; the first
/// leave of a round closes it; a thread leaves the round in which it last arrived.
class BarrierRounds {
 public:
  std::uint64_t arrive(ThreadId thread, BarrierId barrier) {
    State& state = states_[barrier];
    if (state.closed) {
      ++state.round;
      state.closed = false;
    }
    state.arrived[thread] = state.round;
    return state.round;
  }

  std::uint64_t leave(ThreadId thread, BarrierId barrier) {
    State& state = states_[barrier];
    const auto arrived = state.arrived.find(thread);
    if (arrived == state.arrived.end()) return 0;
    const std::uint64_t round = arrived->second;
    state.arrived.erase(arrived);
    if (round == state.round) state.closed = true;
    return round;
  }

 private:
  struct State {
    std::uint64_t round = 1;
    bool closed = false;
    std::unordered_map<ThreadId, std::uint64_t> arrived;
  };
  std::unordered_map<BarrierId, State> states_;
};

}  // namespace syndrome::clock
