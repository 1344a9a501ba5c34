#include "enforce/plan/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
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

/// Ways in which an edge comes about: how the first lock is held, and how the second is taken.
class Ways {
 public:
  void add(AtomicType held, AtomicType taken) { ways_ |= 1U << number(held, taken); }
  [[nodiscard]] bool has(AtomicType held, AtomicType taken) const {
    return (ways_ >> number(held, taken) & 1U) != 0;
  }
  [[nodiscard]] bool reads_only() const {
    return ways_ == 1U << number(AtomicType::kRead, AtomicType::kRead);
  }

 private:
  static unsigned number(AtomicType held, AtomicType taken) {
    return (held == AtomicType::kExclusive ? 2U : 0U) + (taken == AtomicType::kExclusive ? 1U : 0U);
  }
  unsigned ways_ = 0;
};

struct Edge {
  std::vector<Witness> witnesses;
  Ways ways;
};

/// A lock, and how it is held.
using Hold = std::pair<LockNumber, AtomicType>;

struct Cycle {
  std::vector<LockNumber> locks;  // in order
  std::set<Hold> holds;
};

/// Calls action(from, to) for each two holds of which the first waits for the second.
template <class Action>
void for_each_wait(LockNumber from, LockNumber to, Ways ways, Action action) {
  constexpr AtomicType kRead = AtomicType::kRead;
  constexpr AtomicType kExclusive = AtomicType::kExclusive;
  for (const AtomicType held : {kRead, kExclusive}) {
    const bool excludes = ways.has(held, kExclusive);
    if (excludes) action(Hold(from, held), Hold(to, kRead));
    if (excludes || ways.has(held, kRead)) action(Hold(from, held), Hold(to, kExclusive));
  }
}

class Resolver {
 public:
  Resolver(const Program& program, const std::vector<Graph>& graphs, const PlanOptions& options,
           ManyLocks many, Plan& plan)
      : program_(program),
        graphs_(graphs),
        options_(options),
        many_(many),
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
      std::vector<std::uint32_t> rank = ranks();
      const Cycle cycle = find_cycle(rank);
      if (cycle.locks.empty()) return rank;
      if (is_many(cycle.locks) && many_ != ManyLocks::kHoist) {
        many_ == ManyLocks::kJoin ? join_locks(cycle.locks) : give_up_half(cycle);
        continue;
      }
      if (round >= kMostRounds || !hoist(cycle)) give_up(cycle.locks);
    }
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
    edge.ways.add(held, mode);
    edge.witnesses.push_back({f, node, mode});
  }

  void build_edges() {
    edges_.clear();
    together_.clear();
    static const std::vector<PlannedPlace*> kNoPlaces;
    for (const std::uint32_t f : relevant_) {
      const auto found = places_.find(f);
      const std::vector<PlannedPlace*>& places = found == places_.end() ? kNoPlaces : found->second;
      const Function& function = program_.functions[f];
      for (NodeId node = 0; node < function.nodes.size(); ++node) {
        const LockSet& program = locks_.before(f, node);
        std::vector<Hold> taken_here;
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
          for (const auto& [lock, how] : taken_here) {
            together_[{lock, to->lock}].add(how, mode);
            together_[{to->lock, lock}].add(mode, how);
          }
          taken_here.emplace_back(to->lock, mode);
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
          if (lock < ours_ && graphs_[f].may_wait(node)) continue;
          for (const LockNumber from : program) edge(from, AtomicType::kExclusive);
        }
      }
    }
  }

  // ---- cycles ----

  /// A strongly connected component of holds that has one of ours; empty when there is none. One
  /// who reads waits for those alone who exclude him, so that what counts is not only which locks
  /// are held and taken, but how.
  [[nodiscard]] Cycle find_cycle(const std::vector<std::uint32_t>& rank) const {
    using Waits = std::map<Hold, std::vector<Hold>>;
    Waits next;
    Waits previous;
    const auto add = [&](Hold from, Hold to) {
      next[from].push_back(to);
      previous[to].push_back(from);
    };
    for (const auto& [ends, edge] : edges_) {
      for_each_wait(ends.first, ends.second, edge.ways, add);
    }
    for (const auto& [ends, ways] : together_) {
      const auto [from, to] = ends;
      if (rank[from] < rank[to]) for_each_wait(from, to, ways, add);
    }
    const auto reach = [](Hold from, const Waits& along) {
      std::set<Hold> seen;
      std::vector<Hold> work = {from};
      while (!work.empty()) {
        const auto found = along.find(work.back());
        work.pop_back();
        if (found == along.end()) continue;
        for (const Hold& to : found->second) {
          if (seen.insert(to).second) work.push_back(to);
        }
      }
      return seen;
    };
    for (const auto& [hold, waits] : next) {
      if (hold.first >= ours_) break;  // ours come first
      const std::set<Hold> after = reach(hold, next);
      if (!after.contains(hold)) continue;
      const std::set<Hold> before = reach(hold, previous);
      Cycle cycle;
      for (const Hold& other : after) {
        if (!before.contains(other)) continue;
        cycle.holds.insert(other);
        if (cycle.locks.empty() || cycle.locks.back() != other.first) {
          cycle.locks.push_back(other.first);
        }
      }
      return cycle;
    }
    return {};
  }

  [[nodiscard]] static bool is_in(const Cycle& cycle, LockNumber from, LockNumber to, Ways ways) {
    bool found = false;
    for_each_wait(from, to, ways, [&](Hold first, Hold second) {
      found |= cycle.holds.contains(first) && cycle.holds.contains(second);
    });
    return found;
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

  [[nodiscard]] bool is_many(const std::vector<LockNumber>& component) const {
    const auto ours = static_cast<std::size_t>(
        std::ranges::count_if(component, [this](LockNumber lock) { return lock < ours_; }));
    return ours > std::max<std::size_t>(options_.most_in_cycle, 1);
  }

  /// Makes the locks of ours one.
  void join_locks(const std::vector<LockNumber>& component) {
    const auto joins = [&](LockNumber lock) {
      return lock < ours_ && std::ranges::find(component, lock) != component.end();
    };
    const LockNumber kept = *std::ranges::find_if(component, joins);
    PlannedLock& all = plan_.locks[kept];
    for (const LockNumber lock : component) {
      if (lock == kept || !joins(lock)) continue;
      PlannedLock& one = plan_.locks[lock];
      all.variables.insert(all.variables.end(), one.variables.begin(), one.variables.end());
      all.read_pairs += one.read_pairs;
      all.exclusive_pairs += one.exclusive_pairs;
      one.joined = true;
    }
    for (auto& [f, list] : places_) {
      PlannedPlace* first = nullptr;
      bool more = false;
      std::erase_if(list, [&](PlannedPlace* place) {
        if (!joins(place->lock)) return false;
        place->lock = kept;
        if (first == nullptr) {
          first = place;
          return false;
        }
        first->placement.absorb(place->placement);
        more = true;
        return true;
      });
      if (more) first->placement.solve();
    }
    joints_.clear();
  }

  /// Those of ours that stand in each other's way, or in the program's, at the most places.
  void give_up_half(const Cycle& cycle) {
    std::map<LockNumber, std::size_t> places;
    for (const auto& [ends, edge] : edges_) {
      if (!is_in(cycle, ends.first, ends.second, edge.ways)) continue;
      if (ends.first < ours_) places[ends.first] += edge.witnesses.size();
      if (ends.second < ours_) places[ends.second] += edge.witnesses.size();
    }
    std::vector<std::pair<std::size_t, LockNumber>> sorted;
    for (const auto& [lock, count] : places) sorted.emplace_back(count, lock);
    std::ranges::sort(sorted, std::greater<>());
    sorted.resize((sorted.size() + 1) / 2);
    for (const auto& [count, lock] : sorted) drop(lock, cycle.locks);
  }

  /// The order in which ours are to be taken, before all of the program's. Chosen once for each
  /// lock, so that every round works towards the same end: those first that are taken inside of
  /// others at the fewest places, because those places are where locking is added.
  void choose_order(const Cycle& cycle) {
    std::map<LockNumber, std::size_t> inside;
    for (const auto& [ends, edge] : edges_) {
      if (edge.ways.reads_only() && !is_in(cycle, ends.first, ends.second, edge.ways)) continue;
      inside[ends.second] += edge.witnesses.size();
    }
    std::vector<LockNumber> sorted;
    for (const LockNumber lock : cycle.locks) {
      if (lock < ours_ && !order_.contains(lock)) sorted.push_back(lock);
    }
    std::ranges::sort(sorted, [&](LockNumber a, LockNumber b) {
      return std::pair(inside[a], a) < std::pair(inside[b], b);
    });
    for (const LockNumber lock : sorted) order_.emplace(lock, order_.size());
  }

  bool hoist(const Cycle& cycle) {
    choose_order(cycle);
    const std::string told = words(cycle.locks);
    bool changed = false;
    for (const auto& [ends, edge] : edges_) {
      const auto [from, to] = ends;
      if (to >= ours_ || !is_in(cycle, from, to, edge.ways)) continue;
      if (from < ours_ && order_.at(from) < order_.at(to)) continue;
      // Witnesses stand by function: build_edges() goes from one to the next.
      const std::span<const Witness> all(edge.witnesses);
      for (std::size_t i = 0, end = 0; i < all.size(); i = end) {
        while (end < all.size() && all[end].function == all[i].function) ++end;
        changed |= hoist(from, to, all.subspan(i, end - i), told);
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
    added_.push_back(std::make_unique<PlannedPlace>(
        PlannedPlace{f, lock, Placement(graphs_[f], options_.most_apart)}));
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
             const std::string& cycle) {
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
    std::vector<bool> through(graph.size());
    for (NodeId node = 0; node < graph.size(); ++node) through[node] = held[node] && on[node];
    PlannedPlace* place = nullptr;
    bool changed = false;
    for (const NodeId head : extent.heads) {
      // The lock of the program is not held before its own acquire.
      if (!on[head] && std::ranges::none_of(graph.next[head],
                                            [&](NodeId node) { return held[node] && on[node]; })) {
        continue;
      }
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
      if (place == nullptr) place = &place_of(f, to);
      const Function& function = program_.functions[f];
      const auto reason = [&] {
        return fmt::format("hoisted before {}: cycle of {}", name_of(from), cycle);
      };
      if (!place->placement.add_hoisted(head, end, mode, std::move(region), reason)) continue;
      unsolved_.insert(place);
      changed = true;
      std::string told = fmt::format(
          "{} in {}{} {}", plan_.locks[to].name, function.name,
          function.nodes[head].place.empty() ? "" : " at " + function.nodes[head].place, reason());
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
    drop(worst, component);
  }

  void drop(LockNumber lock, const std::vector<LockNumber>& component) {
    plan_.given_up.push_back(fmt::format(
        "{}: its order with {} could not be made free of cycles; its pairs are not kept",
        plan_.locks[lock].name, words(component)));
    plan_.locks[lock].dropped = true;
    for (auto& [f, list] : places_) {
      std::erase_if(list, [lock](const PlannedPlace* place) { return place->lock == lock; });
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
  /// Who is taken first where several are taken at one node: an order along all edges, if there is
  /// one. Edges of readers alone are the first that it goes against: they are least often in a
  /// cycle that matters.
  [[nodiscard]] std::vector<std::uint32_t> ranks() const {
    struct Incoming {
      std::size_t all = 0;
      std::size_t strong = 0;
    };
    std::map<LockNumber, Incoming> incoming;
    std::map<LockNumber, std::vector<std::pair<LockNumber, bool>>>
        next;  // and whether it is strong
    for (LockNumber lock = 0; lock < ours_ + locks_.count(); ++lock) incoming[lock];
    for (const auto& [ends, edge] : edges_) {
      if (ends.first == ends.second) continue;
      const bool strong = !edge.ways.reads_only();
      next[ends.first].emplace_back(ends.second, strong);
      ++incoming[ends.second].all;
      if (strong) ++incoming[ends.second].strong;
    }
    std::vector<std::uint32_t> rank(ours_, UINT32_MAX);
    std::set<LockNumber> ready;
    std::set<LockNumber> almost;  // but for edges of readers
    const auto sort_in = [&](LockNumber lock, const Incoming& count) {
      if (count.all == 0) ready.insert(lock);
      if (count.strong == 0) almost.insert(lock);
    };
    for (const auto& [lock, count] : incoming) sort_in(lock, count);
    std::uint32_t given = 0;
    while (!incoming.empty()) {
      // Cycles of the program's own locks are its own matter.
      const LockNumber lock = !ready.empty()    ? *ready.begin()
                              : !almost.empty() ? *almost.begin()
                                                : incoming.rbegin()->first;
      ready.erase(lock);
      almost.erase(lock);
      incoming.erase(lock);
      if (lock < ours_) rank[lock] = given++;
      for (const auto& [to, strong] : next[lock]) {
        const auto found = incoming.find(to);
        if (found == incoming.end()) continue;
        --found->second.all;
        if (strong) --found->second.strong;
        sort_in(to, found->second);
      }
    }
    return rank;
  }

  const Program& program_;
  const std::vector<Graph>& graphs_;
  const PlanOptions& options_;
  ManyLocks many_;
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
  // Of locks that are taken at one node: edges in the one or in the other direction, as they are
  // ranked.
  std::map<std::pair<LockNumber, LockNumber>, Ways> together_;
  std::map<LockNumber, std::size_t> order_;  // of ours
  std::map<std::tuple<std::uint32_t, LockNumber, LockNumber>, std::optional<Joint>> joints_;
};

}  // namespace

std::vector<std::uint32_t> resolve_order(const Program& program, const std::vector<Graph>& graphs,
                                         const PlanOptions& options, ManyLocks many, Plan& plan) {
  Resolver resolver(program, graphs, options, many, plan);
  std::vector<std::uint32_t> ranks = resolver.run();
  std::vector<PlannedPlace> places = resolver.take_places();
  plan.places = std::move(places);
  return ranks;
}

}  // namespace syndrome::enforce
