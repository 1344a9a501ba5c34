// The definition of determinism, slow and obvious, over a whole trace in memory; every begin … end
// is a deterministic block. docs/determinism.md says it in words.

#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "event/event.h"

namespace syndrome::check::determinism {

/// Two operations of `block` (its begin) that conflict and are not ordered inside of it. `earlier`
/// is the last such operation before `later`.
struct BlockConflict {
  EventNumber block = 0;
  EventNumber earlier = 0;
  EventNumber later = 0;
  friend auto operator<=>(const BlockConflict&, const BlockConflict&) = default;
};

struct OracleResult {
  std::vector<BlockConflict> conflicts;  // ascending
  /// Blocks that are not externally serializable, by their begin, ascending: in the wide and in the
  /// strict sense (docs/atomicity.md).
  std::vector<EventNumber> wide;
  std::vector<EventNumber> strict;

  [[nodiscard]] bool clean() const { return conflicts.empty() && wide.empty(); }
};

[[nodiscard]] OracleResult oracle(std::span<const Event> events);

}  // namespace syndrome::check::determinism
