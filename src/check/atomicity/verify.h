// Accepts or rejects reported cycles, knowing only the definition (conflict.h) and the trace, which
// it reads for itself. No finding is shown that it has not accepted. On the way it collects what a
// report says about the events of a finding: their blocks and the locks held.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/atomicity/conflict.h"
#include "check/finding.h"
#include "check/witnesses.h"

namespace syndrome::check {

class CycleVerifier {
 public:
  /// `findings` with their cycles; it takes the whole trace and then fills in their witnesses.
  explicit CycleVerifier(const std::vector<Finding>& findings);

  void take(const Batch& batch);
  /// All events have been seen, and the blocks around them have ended.
  [[nodiscard]] bool satisfied() const { return witnesses_.satisfied(); }

  /// Why the finding's cycle does not show that its block violates atomicity; none when it does.
  [[nodiscard]] std::optional<std::string> reject(const Finding& finding) const;

  void add_witnesses(Finding& finding) const;

 private:
  struct Seen {
    const Witness* witness = nullptr;
    std::uint64_t round = 0;  // of a barrier's event

    /// A block's begin, or the event itself outside of blocks: names the transaction.
    [[nodiscard]] EventNumber transaction() const {
      return witness->block != 0 ? witness->block : witness->number;
    }
  };
  [[nodiscard]] std::optional<Seen> find(EventNumber number) const;

  Witnesses witnesses_;
  BarrierRounds rounds_;
  std::unordered_map<EventNumber, std::uint64_t> round_of_;  // of wanted barrier events
};

}  // namespace syndrome::check
