// Which functions and blocks of a trace count as blocks: the stage between a reader and WellFormed.
//
// enter and exit of a function that is a block become begin and end; begin and end of a block that
// the spec excludes become enter and exit. Everything else passes unchanged. A function is a block
//   - when [blocks] atomic has an entry for it and exclude has none;
//   - in a RoadRunner log, when the spec has no key `atomic`: unless its method is called `main` or
//     `run` (the naive specification of the AeroDrome paper) or exclude has an entry for it.
// The trace's own begin … end are blocks unless exclude has an entry for their label.
//
// An exit or end belongs to the innermost open enter or begin of its thread, whatever label it
// carries: so what opened as a block closes as a block. One that has no partner stays as it is, for
// WellFormed to complain about.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "event/event.h"
#include "event/names.h"
#include "spec/spec.h"

namespace syndrome::spec {

/// An entry of [blocks] that no function or label of the trace matches.
struct Unmatched {
  std::string_view list;  // "atomic", "deterministic" or "exclude"
  std::string entry;      // as written
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::vector<std::string> nearest;  // labels of the trace, nearest first; at most 3
  bool merged = false;  // there is code of such a function, as a part of others (docs/capture.md)
};

class BlockMapper {
 public:
  struct Options {
    const Spec* spec = nullptr;  // outlives the mapper; null: none was given
    bool roadrunner = false;     // the trace is a RoadRunner log
    /// When given, and whatever else is said: functions and blocks of these names, as the trace has
    /// them, are blocks, and nothing else is. Outlives the mapper.
    const std::unordered_set<std::string>* only = nullptr;
  };

  explicit BlockMapper(Options options);

  void apply(Batch& batch, const Names& names);

  /// Before the first batch of another look at the same trace: nothing is open again. What it has
  /// decided about labels stays.
  void restart() { open_.clear(); }

  /// After the last batch: for the warning on standard error.
  [[nodiscard]] std::vector<Unmatched> unmatched(const Names& names);

  /// What apply() makes of a function: a block; and of a block: none.
  [[nodiscard]] bool is_block(LabelId function, const Names& names) {
    return !idle_ && (decide(function, names) & kIsBlock) != 0;
  }
  [[nodiscard]] bool is_excluded(LabelId block, const Names& names) {
    return !idle_ && (decide(block, names) & kExcluded) != 0;
  }

  /// Whether apply() can change anything at all.
  [[nodiscard]] bool idle() const { return idle_; }

 private:
  enum Decision : std::uint8_t {
    kUndecided = 0,
    kDecided = 1,
    kIsBlock = 2,   // enter and exit of it are a block's begin and end
    kExcluded = 4,  // begin and end of it do not count
  };

  /// What is open in one thread, innermost last: functions that became blocks (true) or not, and
  /// blocks that became functions (true) or not.
  struct Open {
    std::vector<bool> functions;
    std::vector<bool> blocks;
  };

  struct Tracked {
    const Entry* entry;
    std::string_view list;
    bool matched = false;
  };

  void map(Event& event, const Names& names);
  [[nodiscard]] std::uint8_t decide(LabelId label, const Names& names);
  [[nodiscard]] bool is_merged(const Pattern& pattern, const Names& names) const;

  Options options_;
  bool idle_;
  bool functions_ = false;               // the trace has functions
  std::vector<Tracked> entries_;         // of the three lists
  std::vector<std::uint8_t> decisions_;  // by label
  std::vector<Open> open_;               // by thread
};

}  // namespace syndrome::spec
