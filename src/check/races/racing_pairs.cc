#include "check/races/racing_pairs.h"

namespace syndrome::check {

RacingPairs::RacingPairs(const RaceDetector& detector, OnPair on_pair)
    : on_pair_(std::move(on_pair)) {
  history_of_.assign(detector.variables(), kNone);
  for (std::size_t variable = 0; variable < history_of_.size(); ++variable) {
    if (!detector.racy(VarId(variable))) continue;
    history_of_[variable] = static_cast<std::uint32_t>(histories_.size());
    histories_.emplace_back();
  }
}

void RacingPairs::look(const Event& e, EventNumber n) {
  const bool writes = e.kind != EventKind::kRead;
  const bool reads = e.kind != EventKind::kWrite;
  const bool atomic = is_atomic(e);
  const clock::VectorClock& clock = clock_of(e.thread);
  std::vector<Access>& history = histories_[history_of_[e.target]];
  Access* same = nullptr;
  for (Access& access : history) {
    if (access.thread == e.thread) {
      if (access.site == e.site && access.writes == writes && access.reads == reads &&
          access.atomic == atomic) {
        same = &access;
      }
      continue;
    }
    if (!(access.writes || writes) || (access.atomic && atomic)) continue;
    if (clock[access.slot] < access.number) on_pair_({access.number, n}, access.site, e.site);
  }
  const auto slot = static_cast<std::uint32_t>(slot_of(e.thread));
  const Access now{n, e.thread, e.site, slot, writes, reads, atomic};
  if (same != nullptr) {
    *same = now;
  } else {
    history.push_back(now);
  }
}

}  // namespace syndrome::check
