// The bar on standard error for whatever takes over a second: only on a terminal, and gone when
// the work is done.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "event/ids.h"
#include "trace/source.h"

namespace syndrome::cli {

/// "  42% ━━━━━━━━────────  12.3 M events/s  0:07 left", at most `columns` wide. Without a total,
/// events and rate alone.
[[nodiscard]] std::string progress_line(double seconds, EventNumber events, trace::Progress bytes,
                                        unsigned pass, std::size_t columns);

class ProgressBar {
 public:
  /// `wanted`: false keeps it quiet whatever standard error is.
  explicit ProgressBar(bool wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// May be called as often as one likes; draws about ten times a second. A new pass starts anew.
  void update(EventNumber events, trace::Progress bytes, unsigned pass = 1);

  /// Takes the bar off the screen.
  void erase();

 private:
  using Clock = std::chrono::steady_clock;
  bool wanted_;
  bool shown_ = false;
  unsigned pass_ = 1;
  Clock::time_point start_ = Clock::now();
  Clock::time_point pass_start_ = start_;
  Clock::time_point last_ = start_;
};

}  // namespace syndrome::cli
