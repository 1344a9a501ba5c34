#include "enforce/plan/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "enforce/plan/joint.h"
#include "enforce/plan/program_locks.h"

namespace syndrome::enforce {
namespace {

/// Where an edge of the graph comes from: at this node of this function, `to` may be taken while
/// `from` is held.
struct Witness {
  std::uint32_t function = 0;
  NodeId node = 0;
  AtomicType mode = AtomicType::kNone;  // in which `to` is taken
};

struct Edge {
  std::vector<Witness> witnesses;
  bool reads_only = true;
};

class Resolver {
 public:
  Resolver(const Program& program, const std::vector<Graph>& graphs, Plan& plan)
      : program_(program),
        graphs_(graphs),
        plan_(plan),
        ours_(plan.locks.size()),
        calls_(program),
        locks_(program, graphs, calls_, plan.locks.size()) {}

  std::vector<std::uint32_t> run() {
    for (PlannedPlace& place : plan_.places) {
      places_[place.function].push_back(&place);
    }
    find_relevant();
    for (unsigned round = 0;; ++round) {
      settle_modes();
      build_edges();
      const std::vector<LockNumber> cycle = find_component();
      if (cycle.empty()) break;
      if (round >= kMostRounds || !hoist(cycle)) give_up(cycle);
    }
    return ranks();
  }

 private:
  // More rounds than locks have been seen to need by far; what is left is given up.
  static constexpr unsigned kMostRounds = 200;

  // ---- our locks ----

  /// Only functions that take a lock, or call one that does, can hold one over something.
  void find_relevant() {
    std::vector<bool> relevant(program_.functions.size());
    std::vector<std::uint32_t> work;
    const auto add = [&](std::uint32_t f) {
      if (relevant[f]) return;
      relevant[f] = true;
      work.push_back(f);
    };
    for (const auto& [f, list] : places_) add(f);
    for (std::uint32_t f = 0; f < program_.functions.size(); ++f) {
      if (locks_.concerns(f)) add(f);
    }
    while (!work.empty()) {
      const std::uint32_t f = work.back();
      work.pop_back();
      for (const std::uint32_t caller : calls_.callers(f)) add(caller);
    }
    for (std::uint32_t f = 0; f < program_.functions.size(); ++f) {
      if (relevant[f]) relevant_.push_back(f);
    }
  }

  /// Locks that a function or one that it calls may take, and how.
  void summarize() {
    takes_.assign(program_.functions.size(), {});
    std::set<std::uint32_t> work;
    for (const std::uint32_t f : relevant_) {
      auto& takes = takes_[f];
      for (const Node& node : program_.functions[f].nodes) {
        if (node.op == Node::LockOp::kAcquire)
          takes[locks_.number_of(node)] = AtomicType::kExclusive;
      }
      if (const auto found = places_.find(f); found != places_.end()) {
        for (const PlannedPlace* place : found->second) {
          for (NodeId node = 0; node < graphs_[f].size(); ++node) {
            const AtomicType mode = mode_of(place->placement.ops(node).acquires);
            if (mode == AtomicType::kNone) continue;
            AtomicType& known = takes[place->lock];
            known = std::max(known, mode);
          }
        }
      }
      work.insert(f);
    }
    while (!work.empty()) {
      const std::uint32_t f = *work.begin();
      work.erase(work.begin());
      for (const std::uint32_t caller : calls_.callers(f)) {
        bool changed = false;
        for (const auto& [lock, mode] : takes_[f]) {
          AtomicType& known = takes_[caller][lock];
          if (known >= mode) continue;
          known = mode;
          changed = true;
        }
        if (changed) work.insert(caller);
      }
    }
  }

  [[nodiscard]] std::map<LockNumber, AtomicType> taken_by_call(std::uint32_t f, NodeId node) const {
    std::map<LockNumber, AtomicType> taken;
    for (const std::uint32_t callee : calls_.callees(f, node)) {
      for (const auto& [lock, mode] : takes_[callee]) {
        AtomicType& known = taken[lock];
        known = std::max(known, mode);
      }
    }
    return taken;
  }

  // A read lock that is held over a call which needs it exclusively would be upgraded there.
  void settle_modes() {
    for (bool changed = true; changed;) {
      changed = false;
      summarize();
      for (auto& [f, list] : places_) {
        for (PlannedPlace* place : list) {
          bool stronger = false;
          for (const auto& [node, called] : calls_.calls_of(f)) {
            if (!place->placement.may_read_during(node)) continue;
            const auto taken = taken_by_call(f, node);
            const auto found = taken.find(place->lock);
            if (found == taken.end() || found->second != AtomicType::kExclusive) continue;
            stronger |= place->placement.strengthen(node);
          }
          if (stronger) place->placement.solve();
          changed |= stronger;
        }
      }
    }
  }

  [[nodiscard]] const Placement* placement_of(std::uint32_t f, LockNumber lock) const {
    const auto found = places_.find(f);
    if (lock >= ours_ || found == places_.end()) return nullptr;
    for (const PlannedPlace* place : found->second) {
      if (place->lock == lock) return &place->placement;
    }
    return nullptr;
  }

  /// How strongly `from` may be held at the node where `to` is not held as `mode` asks for.
  AtomicType exposed(std::uint32_t f, LockNumber from, AtomicType held, LockNumber to, NodeId node,
                     AtomicType mode, bool during) {
    const Placement* const second = placement_of(f, to);
    if (second == nullptr) return held;
    std::optional<Joint>& joint = joints_[{f, from, to}];
    if (!joint.has_value() || !joint->is_current()) {
      joint.emplace(
          graphs_[f], placement_of(f, from),
          [&](NodeId at) {
            const ProgramLocks::Effect effect = locks_.effect_of(f, at);
            if (effect.holds.contains(from)) return ProgramStep::kTakes;
            return effect.releases.contains(from) ? ProgramStep::kGivesBack : ProgramStep::kNothing;
          },
          *second);
    }
    return joint->exposed(node, mode, during);
  }

  void add_edge(LockNumber from, AtomicType held, LockNumber to, AtomicType mode, std::uint32_t f,
                NodeId node) {
    Edge& edge = edges_[{from, to}];
    const bool reads =
        from < ours_ && to < ours_ && held == AtomicType::kRead && mode == AtomicType::kRead;
    edge.reads_only &= reads;
    edge.witnesses.push_back({f, node, mode});
  }

  void build_edges() {
    edges_.clear();
    static const std::vector<PlannedPlace*> kNoPlaces;
    for (const std::uint32_t f : relevant_) {
      const auto found = places_.find(f);
      const std::vector<PlannedPlace*>& places = found == places_.end() ? kNoPlaces : found->second;
      const Function& function = program_.functions[f];
      for (NodeId node = 0; node < function.nodes.size(); ++node) {
        const LockSet& program = locks_.before(f, node);
        for (const PlannedPlace* to : places) {
          const AtomicType mode = mode_of(to->placement.ops(node).acquires);
          if (mode == AtomicType::kNone || to->placement.surely_before(node, mode)) continue;
          const auto edge = [&](LockNumber from, AtomicType held) {
            if (from == to->lock || held == AtomicType::kNone) return;
            held = exposed(f, from, held, to->lock, node, mode, false);
            if (held != AtomicType::kNone) add_edge(from, held, to->lock, mode, f, node);
          };
          for (const PlannedPlace* from : places) {
            edge(from->lock, from->placement.strongest_before(node));
          }
          for (const LockNumber lock : program) edge(lock, AtomicType::kExclusive);
        }
        std::map<LockNumber, AtomicType> taken = taken_by_call(f, node);
        if (function.nodes[node].op == Node::LockOp::kAcquire) {
          taken[locks_.number_of(function.nodes[node])] = AtomicType::kExclusive;
        }
        for (const auto& [lock, mode] : taken) {
          const auto edge = [&, to = lock, how = mode](LockNumber from, AtomicType held) {
            if (from == to || held == AtomicType::kNone) return;
            if (to < ours_) held = exposed(f, from, held, to, node, how, true);
            if (held != AtomicType::kNone) add_edge(from, held, to, how, f, node);
          };
          for (const PlannedPlace* from : places) {
            edge(from->lock, from->placement.strongest_during(node));
          }
          for (const LockNumber from : program) edge(from, AtomicType::kExclusive);
        }
      }
    }
  }

  // ---- cycles ----

  /// The locks of a strongly connected component that has one of ours; empty when there is none.
  [[nodiscard]] std::vector<LockNumber> find_component() const {
    std::map<LockNumber, LockSet> next;
    for (const auto& [ends, edge] : edges_) {
      if (!edge.reads_only) next[ends.first].insert(ends.second);
    }
    const auto reach = [&next](LockNumber from) {
      LockSet seen;
      std::vector<LockNumber> work = {from};
      while (!work.empty()) {
        const LockNumber at = work.back();
        work.pop_back();
        const auto found = next.find(at);
        if (found == next.end()) continue;
        for (const LockNumber to : found->second) {
          if (seen.insert(to).second) work.push_back(to);
        }
      }
      return seen;
    };
    for (LockNumber lock = 0; lock < ours_; ++lock) {
      LockSet from = reach(lock);
      if (!from.contains(lock)) continue;
      std::vector<LockNumber> component = {lock};
      for (const LockNumber other : from) {
        if (other != lock && reach(other).contains(lock)) component.push_back(other);
      }
      return component;
    }
    return {};
  }

  [[nodiscard]] std::string name_of(LockNumber lock) const {
    return lock < ours_ ? plan_.locks[lock].name
                        : fmt::format("the program's {}", locks_.name_of(lock));
  }

  [[nodiscard]] std::string words(const std::vector<LockNumber>& component) const {
    std::string text;
    for (const LockNumber lock : component) text += (text.empty() ? "" : ", ") + name_of(lock);
    return text;
  }

  /// The order in which ours are to be taken, before all of the program's. Chosen once for each
  /// lock, so that every round works towards the same end: those first that are taken inside of
  /// others at the fewest places, because those places are where locking is added.
  void choose_order(const std::vector<LockNumber>& component) {
    std::map<LockNumber, std::size_t> inside;
    for (const auto& [ends, edge] : edges_) {
      if (!edge.reads_only) inside[ends.second] += edge.witnesses.size();
    }
    std::vector<LockNumber> sorted;
    for (const LockNumber lock : component) {
      if (lock < ours_ && !order_.contains(lock)) sorted.push_back(lock);
    }
    std::ranges::sort(sorted, [&](LockNumber a, LockNumber b) {
      return std::pair(inside[a], a) < std::pair(inside[b], b);
    });
    for (const LockNumber lock : sorted) order_.emplace(lock, order_.size());
  }

  bool hoist(const std::vector<LockNumber>& component) {
    choose_order(component);
    bool changed = false;
    for (const auto& [ends, edge] : edges_) {
      const auto [from, to] = ends;
      if (edge.reads_only || to >= ours_ || !std::ranges::count(component, from) ||
          !std::ranges::count(component, to)) {
        continue;
      }
      if (from < ours_ && order_.at(from) < order_.at(to)) continue;
      // Witnesses stand by function: build_edges() goes from one to the next.
      const std::span<const Witness> all(edge.witnesses);
      for (std::size_t i = 0, end = 0; i < all.size(); i = end) {
        while (end < all.size() && all[end].function == all[i].function) ++end;
        changed |= hoist(from, to, all.subspan(i, end - i), component);
      }
    }
    for (PlannedPlace* place : unsolved_) place->placement.solve();
    unsolved_.clear();
    return changed;
  }

  PlannedPlace& place_of(std::uint32_t f, LockNumber lock) {
    for (PlannedPlace* place : places_[f]) {
      if (place->lock == lock) return *place;
    }
    added_.push_back(std::make_unique<PlannedPlace>(PlannedPlace{f, lock, Placement(graphs_[f])}));
    added_.back()->placement.solve();
    places_[f].push_back(added_.back().get());
    return *added_.back();
  }

  /// Where a lock is held in a function, and where that begins.
  struct Extent {
    std::vector<bool> held;
    std::vector<NodeId> heads;
  };
  [[nodiscard]] Extent extent_of(std::uint32_t f, LockNumber lock) {
    const Graph& graph = graphs_[f];
    Extent extent;
    extent.held.resize(graph.size());
    for (NodeId node = 0; node < graph.size(); ++node) {
      bool begins = false;
      if (lock < ours_) {
        const Placement& placement = place_of(f, lock).placement;
        extent.held[node] = placement.strongest_during(node) != AtomicType::kNone;
        begins = !placement.ops(node).acquires.empty();
      } else {
        extent.held[node] = locks_.before(f, node).contains(lock);
        begins = locks_.effect_of(f, node).holds.contains(lock);
      }
      if (begins) extent.heads.push_back(node);
    }
    return extent;
  }

  /// Takes `to` before `from` wherever `from` is taken on the way to one of the witnesses, which
  /// are of one function.
  bool hoist(LockNumber from, LockNumber to, std::span<const Witness> witnesses,
             const std::vector<LockNumber>& component) {
    const std::uint32_t f = witnesses.front().function;
    const Graph& graph = graphs_[f];
    const Extent extent = extent_of(f, from);
    const std::vector<bool>& held = extent.held;
    std::vector<bool> on(graph.size());  // on the way to a witness, or one
    std::vector<NodeId> work;
    for (const Witness& witness : witnesses) {
      on[witness.node] = true;
      work.push_back(witness.node);
    }
    while (!work.empty()) {
      const NodeId node = work.back();
      work.pop_back();
      for (const NodeId before : graph.previous[node]) {
        if (on[before] || !held[before]) continue;
        on[before] = true;
        work.push_back(before);
      }
    }
    bool changed = false;
    for (const NodeId head : extent.heads) {
      // The lock of the program is not held before its own acquire.
      if (!on[head] && std::ranges::none_of(graph.next[head],
                                            [&](NodeId node) { return held[node] && on[node]; })) {
        continue;
      }
      std::vector<bool> through(graph.size());
      for (NodeId node = 0; node < graph.size(); ++node) through[node] = held[node] && on[node];
      std::vector<bool> region = graph.reach(head, UINT32_MAX, false, through);
      // A call inside of which `to` is taken may be where `from` is taken as well.
      region[head] = true;
      AtomicType mode = AtomicType::kNone;
      NodeId end = head;
      for (const Witness& witness : witnesses) {
        if (!region[witness.node]) continue;
        mode = std::max(mode, witness.mode);
        end = witness.node;
      }
      if (mode == AtomicType::kNone) continue;
      PlannedPlace& place = place_of(f, to);
      const Function& function = program_.functions[f];
      std::string reason =
          fmt::format("hoisted before {}: cycle of {}", name_of(from), words(component));
      if (!place.placement.add_hoisted(head, end, mode, std::move(region), reason)) continue;
      unsolved_.insert(&place);
      changed = true;
      std::string told = fmt::format(
          "{} in {}{} {}", plan_.locks[to].name, function.name,
          function.nodes[head].place.empty() ? "" : " at " + function.nodes[head].place, reason);
      if (told_.insert(told).second) plan_.hoisted.push_back(std::move(told));
    }
    return changed;
  }

  void give_up(const std::vector<LockNumber>& component) {
    LockNumber worst = component.front();
    std::uint64_t least = UINT64_MAX;
    for (const LockNumber lock : component) {
      if (lock >= ours_) continue;
      const std::uint64_t pairs = plan_.locks[lock].read_pairs + plan_.locks[lock].exclusive_pairs;
      if (pairs < least) {
        least = pairs;
        worst = lock;
      }
    }
    plan_.given_up.push_back(fmt::format(
        "{}: its order with {} could not be made free of cycles; its pairs are not kept",
        plan_.locks[worst].name, words(component)));
    plan_.locks[worst].dropped = true;
    for (auto& [f, list] : places_) {
      std::erase_if(list, [worst](const PlannedPlace* place) { return place->lock == worst; });
    }
  }

 public:
  /// After run(): the places, those that hoisting has added too.
  [[nodiscard]] std::vector<PlannedPlace> take_places() {
    std::vector<PlannedPlace> result;
    for (auto& [f, list] : places_) {
      std::ranges::sort(list, {}, &PlannedPlace::lock);
      for (PlannedPlace* place : list) result.push_back(std::move(*place));
    }
    return result;
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> ranks() const {
    // A topological order of what is left.
    std::map<LockNumber, std::size_t> incoming;
    std::map<LockNumber, LockSet> next;
    for (LockNumber lock = 0; lock < ours_ + locks_.count(); ++lock) incoming[lock];
    for (const auto& [ends, edge] : edges_) {
      if (edge.reads_only || ends.first == ends.second) continue;
      if (next[ends.first].insert(ends.second).second) ++incoming[ends.second];
    }
    std::vector<std::uint32_t> rank(ours_, UINT32_MAX);
    std::set<LockNumber> ready;
    for (const auto& [lock, count] : incoming) {
      if (count == 0) ready.insert(lock);
    }
    std::uint32_t given = 0;
    while (!incoming.empty()) {
      // Cycles of the program's own locks are its own matter.
      const LockNumber lock = ready.empty() ? incoming.rbegin()->first : *ready.begin();
      ready.erase(lock);
      incoming.erase(lock);
      if (lock < ours_) rank[lock] = given++;
      for (const LockNumber to : next[lock]) {
        const auto found = incoming.find(to);
        if (found != incoming.end() && --found->second == 0) ready.insert(to);
      }
    }
    return rank;
  }

  const Program& program_;
  const std::vector<Graph>& graphs_;
  Plan& plan_;
  std::size_t ours_;
  CallGraph calls_;
  ProgramLocks locks_;
  std::vector<std::uint32_t> relevant_;
  std::vector<std::map<LockNumber, AtomicType>> takes_;
  std::map<std::uint32_t, std::vector<PlannedPlace*>> places_;
  std::vector<std::unique_ptr<PlannedPlace>> added_;
  std::set<std::string> told_;        // of plan_.hoisted
  std::set<PlannedPlace*> unsolved_;  // that this round has changed
  std::map<std::pair<LockNumber, LockNumber>, Edge> edges_;
  std::map<LockNumber, std::size_t> order_;  // of ours
  std::map<std::tuple<std::uint32_t, LockNumber, LockNumber>, std::optional<Joint>> joints_;
};

}  // namespace

std::vector<std::uint32_t> resolve_order(const Program& program, const std::vector<Graph>& graphs,
                                         Plan& plan) {
  Resolver resolver(program, graphs, plan);
  std::vector<std::uint32_t> ranks = resolver.run();
  std::vector<PlannedPlace> places = resolver.take_places();
  plan.places = std::move(places);
  return ranks;
}

}  // namespace syndrome::enforce
