// Where the lock of one variable is taken and given back in one function (Figure 6 of the paper).
//
// A *constraint* <li, lj, type> says that the lock is held from li to lj. lc(l), the constraints at
// a node, is the set of those whose `on` has the node. The lock is taken before each li. It
// remembers that li as an *origin*; where the last constraint of an origin ends, the origin is
// taken away if it is there, and with the last origin the lock is given back; when those that are
// left need less, it is degraded. So the lock may be taken many times and is given back once, and
// one that is held for an earlier pair stays held when a later one ends. (The paper keeps one
// origin and lets the later one replace it, which is the same where every access between two others
// makes pairs of its own; accesses of other instances do not.)
//
// Constraints whose nodes overlap may share an origin: the lock is then held until the last of them
// ends, whichever of them it was taken for. What is hoisted in a large function has dozens of heads
// around one loop; told apart, they would be held in more combinations than can be followed.
//
// These operations stand before the node where a constraint begins or is gone. (The paper puts
// releases on edges; whether a constraint holds at a node does not depend on the edge, and the
// origins tell the paths apart.)

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "enforce/plan/graph.h"
#include "enforce/plan/program.h"
#include "enforce/profile.h"

namespace syndrome::enforce {

/// A node, with kHoistedBit when the lock is taken there against a cycle in the lock order.
using Origin = std::uint32_t;
inline constexpr Origin kHoistedBit = 0x80000000u;

struct Constraint {
  enum class Why : std::uint8_t { kPair, kSingle, kHoisted };

  NodeId from = 0;
  NodeId to = 0;
  AtomicType type = AtomicType::kNone;  // kRead or kExclusive
  Why why = Why::kPair;
  std::vector<bool> on;  // by node
  std::string reason;    // for people
  NodeId shared = from;  // the `from` of the first one that it shares its origin with

  [[nodiscard]] Origin origin() const {
    return why == Why::kHoisted ? shared | kHoistedBit : shared;
  }
};

/// An origin that the lock has, and how strong a lock it needs.
struct HeldOrigin {
  Origin origin = 0;
  AtomicType mode = AtomicType::kNone;
  friend auto operator<=>(const HeldOrigin&, const HeldOrigin&) = default;
};
/// How the lock may be held: by origin. Empty: not at all.
using HeldState = std::vector<HeldOrigin>;
[[nodiscard]] AtomicType mode_of(const HeldState& state);

struct NodeOps {
  std::vector<Origin> releases;
  std::vector<Origin> degrades;
  std::vector<HeldOrigin> acquires;  // after those
  [[nodiscard]] bool empty() const {
    return releases.empty() && degrades.empty() && acquires.empty();
  }
  friend bool operator==(const NodeOps&, const NodeOps&) = default;
};

class Placement {
 public:
  /// Pairs that overlap share origins when more than `most_apart` of them begin in the function.
  Placement(const Graph& graph, std::size_t most_apart) : graph_(&graph), most_apart_(most_apart) {}

  enum class Added : std::uint8_t { kYes, kNoPath, kOverWait };
  /// A profiled pair. `others`: accesses of the variable, when it is one location, behind which the
  /// pair can no longer be (Figure 6, conflict). It ends at a call that waits, if that is not on
  /// the way to its second access in the same round of all loops. kNoPath when no path leads from
  /// one access to the other, kOverWait when each leads over such a call.
  [[nodiscard]] Added add_pair(NodeId from, NodeId to, AtomicType type,
                               const std::vector<NodeId>& others, std::string reason);
  /// An access by itself.
  void add_single(NodeId at, AtomicType type, std::string reason);
  /// Hold the lock at `on`, taking it at `from`. False when that changes nothing.
  bool add_hoisted(NodeId from, NodeId to, AtomicType type, std::vector<bool> on,
                   const std::function<std::string()>& reason);
  /// Makes all constraints at the node exclusive. Whether that changes anything.
  bool strengthen(NodeId at);

  /// Computes everything below. Drops single accesses that pairs protect anyway; makes exclusive
  /// what would have to be upgraded while it is held, because two who upgrade wait for each other.
  void solve();
  /// Takes what another one of the same function asks for as well; to be solved again.
  void absorb(const Placement& other);

  /// States are numbered as they come up; 0 is that the lock is not held. A number means something
  /// until the next solve().
  using StateId = std::uint32_t;
  /// How a state changes when the node is reached, and then by its acquires.
  [[nodiscard]] StateId arrive(StateId state, NodeId node) const;
  [[nodiscard]] StateId acquire(StateId state, NodeId node) const;
  [[nodiscard]] AtomicType mode(StateId state) const { return modes_[state]; }
  /// What both have, and what one of them has.
  [[nodiscard]] StateId meet(StateId a, StateId b) const;
  [[nodiscard]] StateId join(StateId a, StateId b) const;
  /// How often it has been solved.
  [[nodiscard]] std::uint32_t version() const { return version_; }

  [[nodiscard]] const std::vector<Constraint>& constraints() const { return constraints_; }
  [[nodiscard]] const NodeOps& ops(NodeId node) const { return ops_[node]; }
  /// How the lock may be held when the node is reached, before its acquires, and during it: the
  /// strongest mode that it may have, whether it surely has at least one, and whether it may be
  /// read.
  [[nodiscard]] AtomicType strongest_before(NodeId node) const { return before_[node].most; }
  [[nodiscard]] AtomicType strongest_during(NodeId node) const { return during_[node].most; }
  [[nodiscard]] bool surely_before(NodeId node, AtomicType mode) const {
    return before_[node].least >= mode;
  }
  [[nodiscard]] bool surely_during(NodeId node, AtomicType mode) const {
    return during_[node].least >= mode;
  }
  [[nodiscard]] bool may_read_during(NodeId node) const { return during_[node].reads; }

 private:
  void flow();
  void share_origins();
  void drop_singles();
  bool strengthen_upgrades();
  void index();
  [[nodiscard]] AtomicType kept(Origin origin, NodeId node) const;

  const Graph* graph_;
  std::size_t most_apart_;
  std::vector<Constraint> constraints_;
  std::vector<Origin> origins_;                 // of all constraints, in order
  std::vector<std::vector<AtomicType>> kept_;   // by origin and node: what the constraints ask for
  std::vector<std::vector<HeldOrigin>> takes_;  // by node: what begins there
  std::vector<NodeOps> ops_;
  /// What the states at a node have in common. Of a node that is never reached: surely everything.
  struct Modes {
    AtomicType least = AtomicType::kNone;
    AtomicType most = AtomicType::kNone;
    bool reads = false;
  };
  [[nodiscard]] Modes modes_of(const std::vector<StateId>& states) const;
  [[nodiscard]] StateId number(const HeldState& state) const;
  std::vector<std::vector<StateId>> ids_;  // by node, when it is reached
  std::vector<Modes> before_;
  std::vector<Modes> during_;
  std::uint32_t version_ = 0;
  // Found out when they are first asked for.
  mutable std::vector<HeldState> states_;
  mutable std::vector<AtomicType> modes_;
  mutable std::map<HeldState, StateId> numbers_;
  using Steps = std::vector<std::pair<StateId, StateId>>;
  mutable std::vector<Steps> arrivals_;  // by node
  mutable std::vector<Steps> acquires_;
};

}  // namespace syndrome::enforce
