// The smallest analysis: how many events of each kind a trace has.
//
// It runs beside every check, so it may cost next to nothing: where most analyses go through
// dispatch() (check/analysis.h; check/print is the example), whose jump the processor cannot
// foresee, this one counts by index and has no branch.

#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "check/check.h"
#include "event/event.h"

namespace syndrome::check {

struct Counts {
  std::array<std::uint64_t, kEventKindCount> of_kind{};  // without what was dropped
  std::uint64_t blocks = 0;                              // outermost begins
  std::uint64_t dropped = 0;  // ill-formed events that --lenient passed over

  /// Every event, dropped ones too: the number of the last event.
  [[nodiscard]] std::uint64_t events() const;
  [[nodiscard]] std::uint64_t of(EventKind kind) const {
    return of_kind[static_cast<std::size_t>(kind)];
  }
};

class Count {
 public:
  void take(const Batch& batch);
  [[nodiscard]] Counts counts() const;

 private:
  // One slot for each kind and each combination of the two flags.
  static constexpr std::size_t kSlots = 32 * 4;
  static_assert(kEventKindCount <= 32);
  // Runs of one kind would wait for the increment before; neighbours count in different lanes.
  static constexpr std::size_t kLanes = 4;
  std::array<std::array<std::uint64_t, kSlots>, kLanes> slots_{};
};

/// Count as a check that can be asked for by name; it is always clean, its figures are its stats.
[[nodiscard]] std::unique_ptr<Check> make_count(const Options& options);

}  // namespace syndrome::check
