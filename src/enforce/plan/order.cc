#include "enforce/plan/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

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

/// Two locks in one function, as they may be held together.
struct Joint {
  using Both = std::pair<HeldState, HeldState>;
  bool known = false;  // false: there are too many ways
  std::vector<std::vector<Both>> before;
  std::vector<std::vector<Both>> during;
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
            const auto& states = place->placement.during(node);
            if (std::ranges::none_of(states, [](const HeldState& state) {
                  return mode_of(state) == AtomicType::kRead;
                })) {
              continue;
            }
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

  // Ways in which two locks may be held at one node that are told apart.
  static constexpr std::size_t kMostStates = 256;

  [[nodiscard]] const Placement* placement_of(std::uint32_t f, LockNumber lock) const {
    const auto found = places_.find(f);
    if (lock >= ours_ || found == places_.end()) return nullptr;
    for (const PlannedPlace* place : found->second) {
      if (place->lock == lock) return &place->placement;
    }
    return nullptr;
  }

  const Joint& joint(std::uint32_t f, LockNumber from, LockNumber to) {
    const auto [at, is_new] = joints_.try_emplace({f, from, to});
    if (is_new) at->second = follow_both(f, from, to);
    return at->second;
  }

  [[nodiscard]] Joint follow_both(std::uint32_t f, LockNumber from, LockNumber to) const {
    const Graph& graph = graphs_[f];
    const Placement* const first = placement_of(f, from);
    const Placement& second = *placement_of(f, to);
    Joint joint;
    joint.before.resize(graph.size());
    joint.during.resize(graph.size());
    joint.before[0].emplace_back();
    std::vector<NodeId> work = {0};
    std::vector<bool> visited(graph.size());
    const auto insert = [](std::vector<Joint::Both>& list, Joint::Both both) {
      const auto at = std::ranges::lower_bound(list, both);
      if (at != list.end() && *at == both) return false;
      list.insert(at, std::move(both));
      return true;
    };
    while (!work.empty()) {
      const NodeId node = work.back();
      work.pop_back();
      visited[node] = true;
      ProgramLocks::Effect effect;
      if (first == nullptr) effect = locks_.effect_of(f, node);
      joint.during[node].clear();
      std::vector<Joint::Both> after;
      for (const Joint::Both& both : joint.before[node]) {
        const Joint::Both taken{first == nullptr ? both.first : first->acquire(both.first, node),
                                second.acquire(both.second, node)};
        insert(joint.during[node], taken);
        Joint::Both left = taken;
        if (first == nullptr) {
          // A lock of the program has no origin; any will do.
          if (effect.releases.contains(from)) left.first.clear();
          if (effect.holds.contains(from)) left.first = {{0, AtomicType::kExclusive}};
        }
        insert(after, left);
      }
      if (joint.before[node].size() > kMostStates) return joint;
      for (const NodeId next : graph.next[node]) {
        bool grew = !visited[next];
        for (const Joint::Both& both : after) {
          grew |= insert(joint.before[next],
                         {first == nullptr ? both.first : first->arrive(both.first, next),
                          second.arrive(both.second, next)});
        }
        if (grew) work.push_back(next);
      }
    }
    joint.known = true;
    return joint;
  }

  /// How strongly `from` may be held at the node where `to` is not held as `mode` asks for.
  AtomicType exposed(std::uint32_t f, LockNumber from, AtomicType held, LockNumber to, NodeId node,
                     AtomicType mode, bool during) {
    if (placement_of(f, to) == nullptr) return held;
    const Joint& both = joint(f, from, to);
    if (!both.known) return held;
    AtomicType most = AtomicType::kNone;
    for (const Joint::Both& state : during ? both.during[node] : both.before[node]) {
      if (mode_of(state.second) < mode) most = std::max(most, mode_of(state.first));
    }
    return most;
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
    joints_.clear();
    static const std::vector<PlannedPlace*> kNoPlaces;
    for (const std::uint32_t f : relevant_) {
      const auto found = places_.find(f);
      const std::vector<PlannedPlace*>& places = found == places_.end() ? kNoPlaces : found->second;
      const Function& function = program_.functions[f];
      for (NodeId node = 0; node < function.nodes.size(); ++node) {
        const LockSet& program = locks_.before(f, node);
        for (const PlannedPlace* to : places) {
          const AtomicType mode = mode_of(to->placement.ops(node).acquires);
          if (mode == AtomicType::kNone || surely(to->placement.before(node), mode)) continue;
          const auto edge = [&](LockNumber from, AtomicType held) {
            if (from == to->lock || held == AtomicType::kNone) return;
            held = exposed(f, from, held, to->lock, node, mode, false);
            if (held != AtomicType::kNone) add_edge(from, held, to->lock, mode, f, node);
          };
          for (const PlannedPlace* from : places) {
            edge(from->lock, strongest(from->placement.before(node)));
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
            edge(from->lock, strongest(from->placement.during(node)));
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
      for (const Witness& witness : edge.witnesses) {
        changed |= hoist(from, to, witness, component);
      }
    }
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

  /// Takes `to` before `from` wherever `from` is taken on the way to the witness.
  bool hoist(LockNumber from, LockNumber to, const Witness& witness,
             const std::vector<LockNumber>& component) {
    const std::uint32_t f = witness.function;
    const Graph& graph = graphs_[f];
    // Where `from` is held, and where that begins.
    std::vector<bool> held(graph.size());
    std::vector<NodeId> heads;
    if (from < ours_) {
      const Placement& placement = place_of(f, from).placement;
      for (NodeId node = 0; node < graph.size(); ++node) {
        held[node] = strongest(placement.during(node)) != AtomicType::kNone;
        if (!placement.ops(node).acquires.empty()) heads.push_back(node);
      }
    } else {
      for (NodeId node = 0; node < graph.size(); ++node) {
        held[node] = locks_.before(f, node).contains(from);
        if (locks_.effect_of(f, node).holds.contains(from)) heads.push_back(node);
      }
    }
    std::vector<bool> on = graph.reach(witness.node, UINT32_MAX, true, held);
    bool changed = false;
    for (const NodeId head : heads) {
      if (!on[head] && head != witness.node) {
        // The lock of the program is not held before its own acquire.
        const auto& next = graph.next[head];
        if (!std::ranges::any_of(next, [&](NodeId node) {
              return held[node] && (on[node] || node == witness.node);
            })) {
          continue;
        }
      }
      std::vector<bool> region = graph.reach(head, UINT32_MAX, false, held);
      for (NodeId node = 0; node < graph.size(); ++node) {
        region[node] = region[node] && (on[node] || node == witness.node);
      }
      // A call inside of which `to` is taken may be where `from` is taken as well.
      region[head] = true;
      if (!region[witness.node]) continue;
      PlannedPlace& place = place_of(f, to);
      const Function& function = program_.functions[f];
      std::string reason =
          fmt::format("hoisted before {}: cycle of {}", name_of(from), words(component));
      if (!place.placement.add_hoisted(head, witness.node, witness.mode, std::move(region),
                                       reason)) {
        continue;
      }
      place.placement.solve();
      changed = true;
      std::string told = fmt::format(
          "{} in {}{} {}", plan_.locks[to].name, function.name,
          function.nodes[head].place.empty() ? "" : " at " + function.nodes[head].place, reason);
      if (!std::ranges::count(plan_.hoisted, told)) plan_.hoisted.push_back(std::move(told));
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
  std::map<std::pair<LockNumber, LockNumber>, Edge> edges_;
  std::map<LockNumber, std::size_t> order_;  // of ours
  std::map<std::tuple<std::uint32_t, LockNumber, LockNumber>, Joint> joints_;
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
