// What there is to report of a trace in which something is wrong, looking at every event: all
// conflicts in blocks, and the cycle of each outermost block that violates; then, in passes of
// their own, the inner ones.

#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/atomicity/evidence.h"
#include "check/determinism/blocks.h"
#include "check/determinism/conflicts.h"
#include "check/determinism/crossings.h"
#include "check/determinism/flatten.h"

namespace syndrome::check::determinism {

class Search {
 public:
  struct Options {
    BlockRule::Options blocks;
    bool wide = false;                               // cycles in the wide sense too
    const std::vector<EventNumber>* last = nullptr;  // of each thread; outlives the search
    EventNumber until = ~EventNumber{0};             // the trace is taken to end there
  };
  using OnCycle = std::function<void(Cycle)>;

  /// The first pass. `more`: blocks (with those around them) whose inner blocks must be searched
  /// too, whatever this pass says.
  Search(const Options& options, Conflicts::OnConflict on_conflict, OnCycle on_cycle,
         const Crossings& more);
  ~Search();

  void take(const Batch& batch, const Names& names);
  [[nodiscard]] bool satisfied() const { return seen_ >= options_.until; }
  /// Whether there is another pass to be made, for inner blocks.
  [[nodiscard]] bool end_of_pass();

  /// Why there may be violations that were not found; empty when there are none.
  [[nodiscard]] const std::string& incomplete() const { return incomplete_; }
  [[nodiscard]] std::uint64_t graphs() const { return graphs_; }

 private:
  /// The graph in which some blocks are dissolved.
  struct Graph;
  /// Graphs that are built in one pass: each keeps a window of events.
  static constexpr std::size_t kTogether = 8;

  void begin_pass();

  Options options_;
  Conflicts::OnConflict on_conflict_;
  OnCycle on_cycle_;
  EventNumber seen_ = 0;
  bool first_pass_ = true;
  std::unique_ptr<BlockRule> rule_;
  std::unique_ptr<Blocks> blocks_;
  std::unique_ptr<Conflicts> conflicts_;
  std::unique_ptr<Crossings> crossings_;
  std::list<Graph> graphs_now_;
  std::map<EventNumber, std::vector<EventNumber>>
      to_do_;                      // blocks to be dissolved, by the innermost
  std::set<EventNumber> parents_;  // whose inner blocks this pass judges
  std::unordered_map<EventNumber, EventNumber> parent_of_;  // of those inner blocks
  std::uint64_t graphs_ = 0;
  std::string incomplete_;
};

}  // namespace syndrome::check::determinism
