// One requested check over one trace, as the driver (check/pass.h) sees it.
//
// A check takes every batch of a pass and says at the end whether it wants to see the trace again:
// finding the evidence for a violation may take a second look, which clean traces never pay for.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "check/finding.h"
#include "check/spread.h"
#include "event/event.h"
#include "event/names.h"
#include "spec/spec.h"

namespace syndrome::check {

struct Options {
  std::string engine;  // of `atomicity`; empty: the default
  bool first = false;  // stop at the first finding
  bool all = false;    // every finding, not one for each combination of sites
  /// Of `atomicity`: events that the searches for the cycles of all blocks together may look at.
  std::uint64_t effort = 500'000'000;
  /// Of `nondeterminism`: events that the search for one schedule may look at (2 million take about
  /// 20 ms), and threads to search with.
  std::uint64_t witness_effort = 2'000'000;
  unsigned jobs = 1;
  /// Likewise: processes that decide one trace together; outlives the check; null: this one alone.
  Spread* spread = nullptr;
  /// Of `nondeterminism`, which searches after the trace was read: asked, by any thread, whether to
  /// come to an end with what there is; and told, by the check's own, how far it is.
  std::function<bool()> interrupted;
  std::function<void(std::uint64_t done, std::uint64_t total)> on_search;
  std::function<void(std::string_view)> out;  // where `print` prints; empty: nowhere
  /// Of `determinism`: whether the function or block of this name was declared deterministic; none
  /// when nobody declared any. And whether every begin … end is such a block.
  std::function<bool(std::string_view)> deterministic;
  bool every_begin_is_deterministic = true;
  bool race_filter = true;  // of `determinism`: do not look at data that is free of races
  /// Of `atomic-sets`: sets and units; outlives the check; null: none. And how locations that no
  /// set names are put into sets; none: as the spec says, or by class.
  const spec::Spec* spec = nullptr;
  std::optional<spec::DefaultSets> default_sets;
  /// Likewise: one finding for each function that is a unit of work, and set, not for each
  /// combination of sites. A long function that others come in between is one cause, and may have
  /// dozens of those.
  bool by_unit = false;
  /// Likewise: the trace is a recording, so what no set of the spec names is judged by what connects
  /// its steps (check/units), unless `default_sets` or the spec says how to put it into sets.
  bool recorded = false;
  /// And with what was interrupted and nothing connects.
  bool possible = false;
};

class Check {
 public:
  virtual ~Check() = default;
  Check() = default;
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  /// The next events of this pass, well-formed (trace/wellformed.h).
  virtual void take(const Batch& batch, const Names& names) = 0;

  /// No more events of this pass are wanted: the driver may stop reading when all checks say so.
  [[nodiscard]] virtual bool satisfied() const { return false; }

  /// The pass is over. Whether another pass over the same trace is wanted.
  [[nodiscard]] virtual bool end_of_pass(const Names& names) = 0;

  /// After the last pass. Called once.
  [[nodiscard]] virtual CheckResult result() = 0;
};

}  // namespace syndrome::check
