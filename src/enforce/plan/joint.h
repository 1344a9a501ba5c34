// Two locks in one function, as they may be held together: whether the second is held whenever the
// first is, which is what hoisting is for.

#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "enforce/plan/place.h"

namespace syndrome::enforce {

/// What a node does to a lock of the program.
enum class ProgramStep : std::uint8_t { kNothing, kTakes, kGivesBack };

class Joint {
 public:
  /// `first` is null for a lock of the program, which `step` tells about.
  Joint(const Graph& graph, const Placement* first, const std::function<ProgramStep(NodeId)>& step,
        const Placement& second);

  /// How strongly the first may be held at the node where the second is not held as `mode` asks
  /// for; before the node's acquires, or during it.
  [[nodiscard]] AtomicType exposed(NodeId node, AtomicType mode, bool during) const;
  /// Of placements that have not been solved again since.
  [[nodiscard]] bool is_current() const;

 private:
  using Both = std::pair<Placement::StateId, Placement::StateId>;

  bool add(NodeId node, Both both);
  bool merge(std::vector<Both>& list, Both both) const;
  [[nodiscard]] Both acquire(Both both, NodeId node) const;

  const Placement* first_;
  const Placement& second_;
  std::uint32_t first_version_;
  std::uint32_t second_version_;
  std::vector<std::vector<Both>> before_;
  std::vector<bool> summed_;
};

}  // namespace syndrome::enforce
