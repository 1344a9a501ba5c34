// Accepts or rejects reported cycles, knowing only the definition (conflict.h) and the trace, which
// it reads for itself. No finding is shown that it has not accepted. On the way it collects what a
// report says about the events of a finding: their blocks and the locks held.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/atomicity/conflict.h"
#include "check/finding.h"

namespace syndrome::check {

class CycleVerifier {
 public:
  /// `findings` with their cycles; it takes the whole trace and then fills in their witnesses.
  explicit CycleVerifier(const std::vector<Finding>& findings);

  void take(const Batch& batch);
  /// All events have been seen, and the blocks around them have ended.
  [[nodiscard]] bool satisfied() const { return next_ == wanted_.size() && open_ == 0; }

  /// Why the finding's cycle does not show that its block violates atomicity; none when it does.
  [[nodiscard]] std::optional<std::string> reject(const Finding& finding) const;

  void add_witnesses(Finding& finding) const;

 private:
  struct ThreadState {
    EventNumber block = 0;
    Event block_begin;
    bool of_interest = false;  // an event of the open block is wanted
    std::vector<LockId> locks;
  };
  struct Seen : Witness {
    std::uint64_t round = 0;
    /// A block's begin, or the event itself outside of blocks: names the transaction.
    [[nodiscard]] EventNumber transaction() const { return block != 0 ? block : number; }
  };

  void follow(const Event& event, EventNumber number, ThreadState& state);
  [[nodiscard]] const Seen* find(EventNumber number) const;

  std::vector<EventNumber> wanted_;  // ascending
  std::size_t next_ = 0;
  std::vector<Seen> seen_;                             // as wanted_
  std::size_t open_ = 0;                               // blocks of interest that have not ended
  std::unordered_map<EventNumber, EventNumber> ends_;  // of blocks of interest, by their begin
  std::vector<ThreadState> threads_;
  BarrierRounds rounds_;
};

}  // namespace syndrome::check
