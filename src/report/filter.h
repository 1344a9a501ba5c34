// Findings that a reader does not want to see: suppressed ones (spec/suppressions.h), and those
// that an earlier report, the baseline, has already. What is left decides the verdict.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "report/report.h"
#include "spec/suppressions.h"

namespace syndrome::report {

class Filter {
 public:
  struct Options {
    std::vector<spec::Suppression> suppressions;
    bool has_baseline = false;
    std::vector<Report> baseline;
    bool first = false;  // keep only the first finding that is left
  };

  explicit Filter(Options options);

  /// Takes findings out of the report and says so in it. A check of which nothing is left is clean,
  /// or undecided when it has said that its list of findings is not complete. `last`: no other
  /// report will follow, so that what of the baseline did not show up can be told.
  void apply(Report& report, bool last);

  /// The suppressions that could have matched a finding of the checks that ran and did not, in
  /// words, after the last report.
  [[nodiscard]] std::vector<std::string> unmatched() const;

 private:
  using Indices = std::vector<std::size_t>;

  /// The suppressions whose patterns match the name, remembered: stacks repeat themselves.
  [[nodiscard]] const Indices& matching(std::string_view name);
  /// The first suppression that is about the finding and matches it, or npos.
  [[nodiscard]] std::size_t suppressor(const Finding& finding);
  void apply(CheckReport& entry, bool last);

  Options options_;
  std::vector<bool> asked_;    // by suppression: a check ran that it is about
  std::vector<bool> matched_;  // by suppression
  std::unordered_map<std::string, Indices> remembered_;
  std::unordered_map<std::string, std::string> known_;  // fingerprint to check
  std::unordered_set<std::string> seen_;                // fingerprints of the baseline
};

}  // namespace syndrome::report
