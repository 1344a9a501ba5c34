// All witnesses of a trace: every read and every final value decided, on several threads, and the
// findings among them, one for each combination of sites.
//
// What comes out does not depend on how many threads there are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "check/nondeterminism/decide.h"
#include "check/nondeterminism/order.h"
#include "check/nondeterminism/search.h"
#include "check/spread.h"

namespace syndrome::check {

struct SurveyOptions {
  unsigned jobs = 1;
  std::uint64_t effort = 0;  // events that one question may look at
  bool all = false;          // every finding, not one for each combination of sites
  bool first = false;        // the first nondeterministic read, or else final value, alone
  Spread* spread = nullptr;  // the processes that take part; rank 0 gets the survey
  // As in check::Options; several processes cannot be interrupted.
  std::function<bool()> interrupted = {};
  std::function<void(std::uint64_t done, std::uint64_t total)> on_progress = {};
};

/// A finding: a read that can read a challenger, or a final value that a challenger can be.
struct Prediction {
  Index read = kNoIndex;  // none: a final value
  Index write = kNoIndex;
  Index challenger = kNoIndex;  // none: the initial value
  std::uint64_t length = 0;     // of its schedule
  std::uint64_t count = 0;      // feasible triples at the same sites
};

struct Survey {
  std::vector<Prediction> reads;   // ascending by read and challenger
  std::vector<Prediction> finals;  // ascending by write and challenger
  std::uint64_t nondeterministic_reads = 0;
  std::uint64_t unsettled = 0;  // variables
  std::uint64_t undecided_finals = 0;
  std::uint64_t undecided_groups = 0;  // sites of feasible triples without a schedule that shows it
  std::uint64_t left_out = 0;          // feasible triples of sites beyond kMostGroups
  // After an interruption: what was not looked at.
  bool interrupted = false;
  std::uint64_t reads_left = 0;
  std::uint64_t groups_left = 0;  // combinations of sites
  std::uint64_t finals_left = 0;  // variables
  DecisionCounts decisions;
  SearchCounts search;

  /// Combinations of sites that are told apart: more than anyone reads.
  static constexpr std::size_t kMostGroups = 10'000;
};

[[nodiscard]] Survey survey(const Order& order, const SurveyOptions& options);

/// The schedule of a prediction, the read at its end included. The same every time.
[[nodiscard]] std::vector<Index> schedule_of(Decider& decider, const Prediction& prediction);

}  // namespace syndrome::check
