#include "cli/filter.h"
#include "cli/findings.h"

#include <fmt/format.h>

#include <utility>

#include "cli/io.h"
#include "report/json.h"

namespace syndrome::cli {

void add_filter_options(CLI::App& command, FilterOptions& options) {
  command
      .add_option("--suppressions", options.suppressions,
                  "Findings to leave out: lines KIND:PATTERN, as ThreadSanitizer has them, where "
                  "KIND may also be one of our rules or checks")
      ->type_name("FILE");
  command
      .add_option("--baseline", options.baseline,
                  "Report only findings that these (saved with --format json) do not have")
      ->type_name("FINDINGS");
}

Result<report::Filter> load_filter(const FilterOptions& options, bool first) {
  report::Filter::Options filter;
  filter.first = first;
  if (!options.suppressions.empty()) {
    Result<std::vector<spec::Suppression>> read = spec::read_suppressions(options.suppressions);
    if (!read) return Error{fmt::format("{}: {}", options.suppressions, read.error().message)};
    filter.suppressions = std::move(*read);
  }
  if (!options.baseline.empty()) {
    Result<report::SavedReports> saved = read_findings(options.baseline);
    if (!saved) return saved.error();
    filter.has_baseline = true;
    filter.baseline = std::move(saved->reports);
  }
  return report::Filter(std::move(filter));
}

void warn_of_unmatched(const FilterOptions& options, const report::Filter& filter) {
  for (const std::string& line : filter.unmatched()) warn(options.suppressions, line);
}

}  // namespace syndrome::cli
