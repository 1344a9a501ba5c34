// The definition of data races, run on a whole trace: slow and obvious.
//
// It makes every edge of happens-before (happens_before.h) one by one, closes them transitively and
// looks at every pair of accesses. For traces of a few hundred events.

#pragma once

#include <span>
#include <vector>

#include "check/races/detector.h"
#include "event/event.h"

namespace syndrome::check {

struct RaceOracle {
  std::vector<Race> all;   // every two accesses that race; ascending
  std::vector<Race> last;  // those of them that are racing pairs (racing_pairs.h)
};

/// `events` are well-formed, with their flags set; kDropped ones are ignored.
[[nodiscard]] RaceOracle race_oracle(std::span<const Event> events);

/// [f][e], both counted from 0: e happens before f.
[[nodiscard]] std::vector<std::vector<bool>> happens_before_oracle(std::span<const Event> events);

}  // namespace syndrome::check
