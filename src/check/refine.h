// Which functions are atomic, learned from runs that passed.
//
// Every function is a candidate, but for `main`, for where threads begin, and for the library's. A
// run is checked with all candidates as blocks; those that violate are dropped, and the run is
// checked again, because blocks count as their outermost one: what was called inside of a dropped
// block is now a block of its own. When nothing violates any more, the run agrees with what is
// left.
//
// Runs that agreed before need no second check: dropping a block cuts it into the smaller blocks
// and single events inside of it, and what is serializable in large pieces is serializable in
// smaller ones (a cycle between the pieces would be one between the wholes, or run inside of one
// whole against the order of its thread).

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "check/functions.h"
#include "check/pass.h"
#include "event/result.h"
#include "trace/input.h"

namespace syndrome::check {

/// What is known of a function over all runs.
struct Candidate {
  enum class State : std::uint8_t { kAtomic, kViolated, kEntry, kMain };

  State state = State::kAtomic;
  FunctionUse use;           // added up; threads: the most in one run
  std::uint64_t runs = 0;    // in which it was called
  std::uint64_t run = 0;     // that dropped it, from 1
  std::uint64_t blocks = 0;  // that violated in the check that dropped it
  std::string reason;        // why it was dropped
};

/// How much the runs say about a function that is left.
enum class Sureness : std::uint8_t { kTested, kLittleTested, kNotTested };
[[nodiscard]] Sureness sureness_of(const Candidate& candidate);
[[nodiscard]] std::string_view name_of(Sureness sureness);

class Refinement {
 public:
  /// Contended calls from which on a function counts as tested. If one in ten such calls went
  /// wrong, 30 would show it with a probability of 96%.
  static constexpr std::uint64_t kTested = 30;

  struct Options {
    bool lenient = false;  // as in PassOptions, like the two that follow
    std::function<void(const Tick&)> on_progress;
    std::function<bool()> interrupted;
    /// The evidence in words, one for each finding of the first result.
    std::function<std::vector<std::string>(const PassResult&)> explain;
  };

  struct Outcome {
    std::vector<std::string> dropped;   // by this run, in the order in which they were
    std::vector<std::string> warnings;  // of the reader, and of blocks that cannot be told apart
    unsigned checks = 0;                // how often the run was checked
    EventNumber events = 0;
    bool interrupted = false;  // then the run does not count
  };

  /// Checks one more run, which may have left several traces: one for each of its processes.
  void begin_run() { ++runs_; }
  [[nodiscard]] Result<Outcome> add(trace::Input& input, const Options& options);
  [[nodiscard]] Result<Outcome> add(const Opener& open, trace::Format format,
                                    const Options& options);

  [[nodiscard]] const std::map<std::string, Candidate>& functions() const { return functions_; }
  [[nodiscard]] std::uint64_t runs() const { return runs_; }

 private:
  void survey(const std::map<std::string, FunctionUse>& seen);
  [[nodiscard]] std::unordered_set<std::string> atomic() const;

  std::map<std::string, Candidate> functions_;
  std::map<std::string, std::uint64_t> last_run_;  // in which a function was called
  std::uint64_t runs_ = 0;
};

}  // namespace syndrome::check
