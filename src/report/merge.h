// Several runs of one program as one report.

#pragma once

#include <optional>
#include <vector>

#include "report/report.h"

namespace syndrome::report {

/// One element for each run: the reports on its processes, none when it left no trace. A finding
/// that several of them have (the same fingerprint) is shown as the first one had it, and their
/// counts are added. A verdict is the worst of all. How the program ended is what the first run
/// that failed says, with what could explain it; if none failed, the last one. Events and blocks
/// are added; of threads, variables and locks the most count. None when there is no report at all.
[[nodiscard]] std::optional<Report> merge_runs(std::vector<std::vector<Report>> runs);

/// Adds what was found in another part of the same run (a window), in the same way. How the program
/// ended stays as `report` has it.
void add_window(Report& report, Report&& window);

}  // namespace syndrome::report
