// What a finding says to a person: the same story in every format.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace syndrome::report {

/// "transfer is not atomic", "data race on balance"
[[nodiscard]] std::string headline_of(const Finding& finding);

/// What stands in brackets behind it: "T1, bank.cc:12, seen 3 times"
[[nodiscard]] std::string whereabouts(const Finding& finding);

struct Explanation {
  /// One sentence for each edge of the cycle, in its order; of a very long one, for the first ones.
  /// Empty where the finding lacks an end.
  std::vector<std::string> edges;
  std::string conclusion;  // what all of it comes to

  [[nodiscard]] bool empty() const { return edges.empty() && conclusion.empty(); }
};

/// What went wrong, in whole sentences; empty for a rule that this version has no words for, whose
/// message then has to do.
[[nodiscard]] Explanation explain(const Finding& finding);

/// An event of a finding, or the begin or end of one of its blocks.
struct Step {
  EventNumber event = 0;
  const Site* site = nullptr;    // either this,
  const Block* block = nullptr;  // or this
  bool ends = false;             // the block's end, not its begin
  EventNumber within = 0;        // begin of the block that it belongs to; 0: outside of every block

  [[nodiscard]] const std::string& thread() const { return site ? site->thread : block->thread; }
  [[nodiscard]] EventKind op() const;
  [[nodiscard]] std::string target() const;
  [[nodiscard]] const Place& place() const;  // where the program itself is; may be unknown
};

/// Ascending by event. They point into the finding.
[[nodiscard]] std::vector<Step> steps_of(const Finding& finding);

/// Which events a picture joins by arrows: the edges of a cycle, the two that nothing orders, those
/// of a pattern one after the other, a write and the read that it is read by.
[[nodiscard]] std::vector<check::Edge> arrows_of(const Finding& finding);

/// A command that shows the finding in its trace; empty when the trace is gone.
[[nodiscard]] std::string closer_command(const Trace& trace, const Finding& finding);

/// As a shell reads it.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace syndrome::report
