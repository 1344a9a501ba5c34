// The report for people, 80 columns wide.

#pragma once

#include <cstddef>
#include <string>

#include "report/report.h"

namespace syndrome::report {

struct TextOptions {
  bool colour = false;
  bool stats = false;
  std::size_t frames = 6;  // of a stack that are shown; 0: all
  bool suggest_runs = false;  // a clean report of one run says that others may show more
};

[[nodiscard]] std::string to_text(const Report& report, const TextOptions& options);

/// One finding as it stands in to_text(), under that number.
[[nodiscard]] std::string finding_text(const Report& report, const Finding& finding,
                                       std::size_t number, const TextOptions& options);

}  // namespace syndrome::report
