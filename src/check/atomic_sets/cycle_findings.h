// Cycles of the conflict graphs, as findings of the rule `set-cycle`.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "check/atomic_sets/matcher.h"
#include "check/atomic_sets/sets.h"
#include "check/check.h"
#include "check/finding.h"
#include "event/names.h"

namespace syndrome::check::atomic_sets {

/// Whether the user has said what belongs together: then a run is in order if and only if it is
/// serializable, set by set. Otherwise, what the 14 patterns do not have is not reported.
[[nodiscard]] bool judges_cycles(const Options& options);

/// A site, or the number of an event without one, marked as such.
[[nodiscard]] inline std::uint64_t site_or_number(const Access& access) {
  constexpr std::uint64_t kNumber = std::uint64_t{1} << 63U;
  return access.site.value != 0 ? access.site.value : kNumber | access.number;
}

class CycleFindings {
 public:
  /// `all`: every one; else one for each combination of sites.
  explicit CycleFindings(bool all) : all_(all) {}

  void add(const Cycle& cycle);
  [[nodiscard]] bool empty() const { return found_.empty(); }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  /// Adds them to `findings`, in the order of the events where they were noticed. One is left out
  /// when `findings` has a pattern of the same set for two neighbours of the cycle.
  void add_to(std::vector<Finding>& findings, const SetRule& sets, const Names& names) const;

 private:
  /// Findings that are kept: more than anyone reads.
  static constexpr std::size_t kMostFindings = 10'000;

  bool all_;
  std::vector<std::pair<Cycle, std::uint64_t>> found_;  // with how often
  std::map<std::vector<std::uint64_t>, std::size_t> group_of_;
  std::uint64_t left_out_ = 0;
};

}  // namespace syndrome::check::atomic_sets
