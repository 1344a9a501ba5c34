// --suppressions and --baseline, the same for every command that reports findings.

#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "event/result.h"
#include "report/filter.h"

namespace syndrome::cli {

struct FilterOptions {
  std::string suppressions;  // empty: none
  std::string baseline;      // likewise

  [[nodiscard]] bool given() const { return !suppressions.empty() || !baseline.empty(); }
};

void add_filter_options(CLI::App& command, FilterOptions& options);

/// Reads the files. `first`: of what is left, only the first finding is wanted.
[[nodiscard]] Result<report::Filter> load_filter(const FilterOptions& options, bool first);

/// Warns of suppressions that matched nothing; after the last report.
void warn_of_unmatched(const FilterOptions& options, const report::Filter& filter);

}  // namespace syndrome::cli
