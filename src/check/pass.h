// The driver: leads the events of a trace through the stages and past every requested check,
//
//   Input -> BlockMapper (spec/) -> WellFormed (trace/) -> Count -> Check, Check, …
//
// once, and again for as long as a check asks for another look. When there are findings, one last
// look collects what surrounds them (check/context.h).

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "check/check.h"
#include "check/context.h"
#include "check/count/count.h"
#include "check/failure/failure.h"
#include "check/finding.h"
#include "event/names.h"
#include "event/result.h"
#include "spec/spec.h"
#include "trace/input.h"
#include "trace/source.h"

namespace syndrome::check {

/// How far a pass has come.
struct Tick {
  unsigned pass = 1;
  EventNumber events = 0;  // of this pass
  trace::Progress bytes;
};

/// Opens the trace at its first event, each time it is called.
using Opener = std::function<Result<std::unique_ptr<trace::Source>>()>;

struct PassOptions {
  const spec::Spec* spec = nullptr;  // which blocks count; outlives the pass
  /// Instead of the spec: these functions and blocks, by the names that the trace has, and no
  /// others.
  const std::unordered_set<std::string>* only = nullptr;
  bool lenient = false;  // pass over ill-formed events instead of refusing the trace
  /// No results of checks that had nothing to judge (CheckResult::idle): nobody asked for them by
  /// name.
  bool drop_idle = false;
  /// Called about ten times a second.
  std::function<void(const Tick&)> on_progress;
  /// Asked after each batch until it first says yes. From then on the trace is taken to end at the
  /// furthest event that any pass has seen: a second look at it sees the same events and no more.
  std::function<bool()> interrupted;
  /// How the program ended, for a trace that does not say it.
  std::optional<Ended> ended;
  /// Where the trace is read without what can change no verdict: all of it. Empty: there is no more.
  Opener open_whole;
};

struct TraceSummary {
  std::string format;
  std::uint64_t bytes = 0;
  Counts counts;
  std::uint64_t threads = 0;
  std::uint64_t variables = 0;
  std::uint64_t locks = 0;
  bool whole = true;  // false: reading stopped early, because nobody wanted more or on request
  std::vector<std::string> warnings;   // of the reader: where the file was cut off
  std::optional<std::uint64_t> noise;  // with which the program ran: its seed
  std::optional<Ended> ended;          // how it ended
};

/// Of a program that failed. It is read once more for this, perhaps with other numbers of events.
struct FailureResult {
  Failure failure;
  Names names;
};

struct PassResult {
  TraceSummary trace;
  std::vector<CheckResult> results;   // one for each check, in order
  std::vector<std::string> warnings;  // the reader's, and what else a user should know
  Names names;                        // filled in when there is a finding
  Contexts contexts;                  // of the findings; empty when the trace has nothing to tell
  /// When the trace has functions and not one block: names that the spec could begin with.
  std::vector<std::string> candidates;
  std::optional<FailureResult> failure;
  unsigned passes = 0;       // how often the trace was read
  bool interrupted = false;  // then trace.counts.events() says after how many
  double seconds = 0;        // all passes, reading included
};

/// Runs every check over the trace. An error when the trace cannot be read or is ill-formed, with
/// its position: "event 12: …".
[[nodiscard]] Result<PassResult> run_pass(trace::Input& input,
                                          std::span<const std::unique_ptr<Check>> checks,
                                          const PassOptions& options);

/// The same over whatever `open` opens; the summary then has no bytes.
[[nodiscard]] Result<PassResult> run_pass(const Opener& open, trace::Format format,
                                          std::span<const std::unique_ptr<Check>> checks,
                                          const PassOptions& options);

}  // namespace syndrome::check
