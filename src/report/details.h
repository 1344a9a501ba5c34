// The part of a finding that shows the code: for each end of each edge the source line, the stack
// and the locks; then where the threads were created. Empty when the trace has none of that.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/paint.h"
#include "report/report.h"

namespace syndrome::report {

struct DetailOptions {
  std::size_t columns = 80;
  std::size_t frames = 6;  // of a stack that are shown; 0: all
};

/// Lines of at most `columns`. An end that another one before it looks like is told in one line.
[[nodiscard]] std::vector<std::string> details(const Report& report, const Finding& finding,
                                               const DetailOptions& options, const Paint& paint);

/// Whether a frame is of a library rather than of the program: what reports fold.
[[nodiscard]] bool of_library(const Frame& frame);

/// Where the program itself is at an event: the innermost place that is not a library's; the
/// event's own when all are.
[[nodiscard]] const Place& own_place(const Site& site);

}  // namespace syndrome::report
