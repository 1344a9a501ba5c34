// The control flow of a function as a graph: what can be reached, in which order nodes are best
// looked at, and which calls stand between two accesses (waiting.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "enforce/plan/program.h"

namespace syndrome::enforce {

/// Whether a call waits for something else than a lock, or sleeps (waiting.h).
enum class Waits : std::uint8_t { kNever, kMaybe, kSurely };

/// The graph of a function, both ways.
struct Graph {
  explicit Graph(const Function& function);
  std::vector<std::vector<NodeId>> next;
  std::vector<std::vector<NodeId>> previous;
  std::vector<bool> calls;  // by node
  [[nodiscard]] std::size_t size() const { return next.size(); }
  /// Where a node stands in an order in which most edges lead forward.
  std::vector<std::uint32_t> position;
  /// Nodes that can be reached from `from` by at least one edge, through nodes of `through` only
  /// (all when empty); `stop` may be reached, but not passed.
  [[nodiscard]] std::vector<bool> reach(NodeId from, NodeId stop, bool backwards,
                                        const std::vector<bool>& through = {}) const;

  void set_waits(std::vector<Waits> waits);
  [[nodiscard]] bool may_wait(NodeId node) const {
    return !waits_.empty() && waits_[node] != Waits::kNever;
  }
  /// Calls at which a pair of these two ends. Those that stand between rounds of a loop for the
  /// two: in a loop with one of them, or in one with both, but not between them in one round. And
  /// those that surely wait, but for the two themselves. Empty when no call waits.
  [[nodiscard]] std::vector<bool> waits_between(NodeId from, NodeId to) const;

 private:
  /// The edge that leads back, and what is in the loop.
  struct Loop {
    NodeId from = 0;
    NodeId to = 0;
    std::vector<bool> body;
  };
  [[nodiscard]] bool reaches(NodeId from, NodeId to, const std::vector<const Loop*>& once) const;

  std::vector<Waits> waits_;  // empty: none does
  std::vector<Loop> loops_;   // if there are waits
};

/// Nodes whose state has changed, those that come first in the graph's order first: so a node is
/// looked at again only for what comes back to it around a loop.
class Worklist {
 public:
  explicit Worklist(const Graph& graph) : graph_(graph), waiting_(graph.size()) {}
  void add(NodeId node);
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] NodeId take();

 private:
  const Graph& graph_;
  std::vector<bool> waiting_;
  std::vector<std::pair<std::uint32_t, NodeId>> heap_;
};

}  // namespace syndrome::enforce
