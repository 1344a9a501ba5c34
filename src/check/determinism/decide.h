// The first pass: is anything wrong? Conflict freedom of every block and external serializability
// of the outermost ones exactly, candidates for the inner ones; for the accesses that are looked
// at. With a race detector in front, those are the atomic ones, and in a second round those to
// variables that have a race.

#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "check/atomicity/reach.h"
#include "check/determinism/blocks.h"
#include "check/determinism/conflicts.h"
#include "check/determinism/crossings.h"
#include "check/determinism/flatten.h"
#include "check/finding.h"
#include "check/races/detector.h"

namespace syndrome::check::determinism {

class Decide {
 public:
  enum class Look : std::uint8_t {
    kFiltered,  // at atomic accesses only, while a race detector looks at all
    kRacy,      // at those, and at accesses to given variables
    kAll,
  };
  struct Options {
    BlockRule::Options blocks;
    Look look = Look::kFiltered;
    std::vector<bool> racy;      // for kRacy, by variable
    bool stop_at_first = false;  // nothing after the first violation is of interest
  };

  explicit Decide(Options options);

  void take(const Batch& batch, const Names& names);
  [[nodiscard]] bool satisfied() const { return options_.stop_at_first && violation() != 0; }

  /// The event at which a violation was noticed; 0: none was, but see candidates().
  [[nodiscard]] EventNumber violation() const {
    return violation_ != 0 ? violation_ : reach_.violation().event;
  }
  [[nodiscard]] const Crossings& crossings() const { return crossings_; }
  /// With kFiltered: what was skipped has to be looked at after all. The variables, or all of them.
  [[nodiscard]] bool races() const;
  [[nodiscard]] bool needs_all() const;
  [[nodiscard]] std::vector<bool> racy_variables() const;
  /// More threads together than can be followed.
  [[nodiscard]] bool gave_up() const { return conflicts_.too_many_threads(); }

  /// The last event of each thread, as far as the trace was shown.
  [[nodiscard]] const std::vector<EventNumber>& last() const { return last_; }
  [[nodiscard]] const Blocks& blocks() const { return blocks_; }
  /// There is one outermost block, and what is outside of it is done by its own thread: all else
  /// that ran is in the block.
  [[nodiscard]] bool one_block() const {
    return blocks_.begun() - blocks_.nested() == 1 && !outside_.several &&
           (!outside_.any || outside_.thread == root_);
  }
  /// Functions called in blocks whose results differ from run to run (event/sources.h), at most so
  /// many, each with the place of its first call.
  static constexpr std::size_t kMostSources = 20;
  [[nodiscard]] const std::vector<std::string>& sources() const { return sources_; }
  [[nodiscard]] std::uint64_t forked_inside() const { return conflicts_.counts().blocks; }
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }
  [[nodiscard]] std::uint64_t accesses() const { return accesses_; }
  [[nodiscard]] std::vector<Stat> stats() const;

 private:
  void function(const Event& e, EventNumber n, const Names& names);
  /// An event that is not looked at itself: that the thread did something, where it is now.
  void settle(const Event& e, EventNumber n);
  /// After Blocks::enter().
  void event(const Event& e, EventNumber n, const Names& names);
  void note_source(const Event& e, const Names& names);
  /// Which thread acts outside of blocks, as long as there is one outermost block at most.
  void note_outside(const Event& e) {
    if (blocks_.begun() - blocks_.nested() > 1 || blocks_.innermost(e.thread) != kNoBlock) return;
    outside_.several |= outside_.any && outside_.thread != e.thread;
    outside_.any = true;
    outside_.thread = e.thread;
  }
  void feed_detector(const Event& e, EventNumber n);
  template <Look look>
  void run(const Batch& batch, const Names& names);
  [[nodiscard]] bool looked_at(const Event& access) const {
    return is_atomic(access) ||
           (access.target < options_.racy.size() && options_.racy[access.target]);
  }

  Options options_;
  BlockRule rule_;
  Blocks blocks_;
  Conflicts conflicts_;
  Reach reach_;
  Flatten<Reach> flat_;
  Crossings crossings_;
  RaceDetector detector_;
  EventNumber violation_ = 0;
  std::vector<EventNumber> last_;
  /// By thread, as many as last_: settle() would do nothing new until the thread's next event().
  std::vector<std::uint8_t> settled_;
  std::size_t variables_ = 0;
  struct Outside {
    bool any = false;
    bool several = false;
    ThreadId thread;
  };
  Outside outside_;
  ThreadId root_;                   // of the last outermost block
  std::vector<bool> known_labels_;  // whether they are sources was decided
  std::vector<std::string> sources_;
  std::set<std::string> named_sources_;
  std::uint64_t skipped_ = 0;
  std::uint64_t accesses_ = 0;
};

}  // namespace syndrome::check::determinism
