#include "enforce/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "enforce/plan/order.h"
#include "enforce/plan/program_locks.h"
#include "enforce/plan/waiting.h"

namespace syndrome::enforce {
namespace {

std::string_view short_place(std::string_view place) {
  const std::string_view path = place.substr(0, place.find(' '));
  return path.substr(path.rfind('/') + 1);
}

bool is(const Node& node, SpotKind kind) {
  switch (kind) {
    // A function of a library accesses what it is given where it is called.
    case SpotKind::kRead:
      return node.kind == Node::Kind::kAccess ? node.reads : node.kind == Node::Kind::kCall;
    case SpotKind::kWrite:
      return node.kind == Node::Kind::kAccess ? node.writes : node.kind == Node::Kind::kCall;
    case SpotKind::kCall: return node.kind == Node::Kind::kCall;
  }
  return false;
}

class Planner {
 public:
  Planner(const Program& program, const Profile& profile, const PlanOptions& options)
      : program_(program), profile_(profile), options_(options) {}

  Result<Plan> run() {
    index();
    choose_variables();
    if (!changed_.empty()) return stale();
    make_locks();
    graphs_.reserve(program_.functions.size());
    for (const Function& function : program_.functions) graphs_.emplace_back(function);
    std::vector<std::vector<Waits>> waits = waiting_calls(program_, CallGraph(program_));
    for (std::uint32_t f = 0; f < graphs_.size(); ++f) graphs_[f].set_waits(std::move(waits[f]));
    place_pairs();
    if (!changed_.empty()) return stale();
    place_singles();
    for (auto& [key, placement] : placements_) {
      placement.solve();
      plan_.places.push_back({key.first, key.second, std::move(placement)});
    }
    plan_.before = figures_of(plan_);
    sort_locks(resolve());
    std::erase_if(plan_.places, [this](const PlannedPlace& place) {
      for (NodeId node = 0; node < graphs_[place.function].size(); ++node) {
        if (!place.placement.ops(node).empty()) return false;
      }
      return true;
    });
    plan_.after = figures_of(plan_);
    return std::move(plan_);
  }

 private:
  using Place = std::pair<std::uint32_t, NodeId>;  // function and node

  void index() {
    for (std::uint32_t f = 0; f < program_.functions.size(); ++f) {
      const Function& function = program_.functions[f];
      functions_[function.name].push_back(f);
      for (NodeId node = 0; node < function.nodes.size(); ++node) {
        const Node& at = function.nodes[node];
        if (at.kind == Node::Kind::kAccess && !at.variable.empty()) {
          by_variable_[at.variable].emplace_back(f, node);
        }
      }
    }
  }

  /// Nodes of the functions of this name at the spot.
  std::vector<Place> nodes_at(const std::string& function, const Spot& spot) {
    std::vector<Place> found;
    const auto known = functions_.find(function);
    if (known == functions_.end()) {
      missing_.insert(function);
      return found;
    }
    for (const std::uint32_t f : known->second) {
      for (NodeId node = 0; node < program_.functions[f].nodes.size(); ++node) {
        const Node& at = program_.functions[f].nodes[node];
        if (at.place == spot.place && is(at, spot.kind)) found.emplace_back(f, node);
      }
    }
    // An access proper, when there is one at the place.
    const auto access = [this](const Place& place) {
      return program_.functions[place.first].nodes[place.second].kind == Node::Kind::kAccess;
    };
    if (spot.kind != SpotKind::kCall && std::ranges::any_of(found, access)) {
      std::erase_if(found, [&access](const Place& place) { return !access(place); });
    }
    // Code that the compiler has added stands on no line; its accesses are found by their names.
    const bool lineless =
        spot.place.substr(0, spot.place.find(' ')).find("+0x") != std::string::npos;
    if (found.empty() && !lineless) {
      changed_.insert(fmt::format("{} (nothing that does a {} at {})", function, name_of(spot.kind),
                                  short_place(spot.place)));
    }
    return found;
  }

  [[nodiscard]] bool wanted(const std::string& name) const {
    if (options_.only.empty()) return true;
    const std::vector<std::string> parts = parts_of(name);
    return std::ranges::any_of(options_.only, [&](const std::string& only) {
      return only == name || std::ranges::count(parts, only) != 0;
    });
  }

  struct Chosen {
    std::string name;
    const Variable* variable = nullptr;
    std::set<std::string> names;  // in the source
    std::set<Place> accesses;
    std::uint32_t group = 0;
  };

  void choose_variables() {
    for (const auto& [name, variable] : profile_.variables) {
      const bool needed = std::ranges::any_of(variable.pairs, [&v = variable](const auto& entry) {
        return entry.second.type != AtomicType::kNone && !is_guarded(v, entry.second);
      });
      if (!needed || !wanted(name)) continue;
      Chosen chosen{name, &variable, {}, {}, static_cast<std::uint32_t>(chosen_.size())};
      for (const std::string& part : parts_of(name)) {
        if (by_variable_.contains(part)) chosen.names.insert(part);
      }
      for (const Access& access : variable.accesses) {
        for (const Place& place : nodes_at(access.function, access.spot)) {
          chosen.accesses.insert(place);
          if (access.spot.kind == SpotKind::kWrite) writes_.insert(place);
          const std::string& own = program_.functions[place.first].nodes[place.second].variable;
          if (!own.empty()) chosen.names.insert(own);
        }
      }
      for (const std::string& own : chosen.names) {
        const auto found = by_variable_.find(own);
        if (found == by_variable_.end()) continue;
        chosen.accesses.insert(found->second.begin(), found->second.end());
      }
      chosen_.push_back(std::move(chosen));
    }
  }

  Result<Plan> stale() const {
    constexpr std::size_t kNamed = 5;
    std::string text;
    std::size_t told = 0;
    for (const std::string& function : changed_) {
      if (told++ == kNamed) break;
      text += "\n  " + function;
    }
    if (changed_.size() > kNamed) text += fmt::format("\n  and {} more", changed_.size() - kNamed);
    return Error{fmt::format(
        "the profile is of other code than the program. Record and infer again; what has "
        "changed:{}",
        text)};
  }

  /// Variables that share an access share a lock.
  void make_locks() {
    std::vector<std::uint32_t> parent(chosen_.size());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto root = [&parent](std::uint32_t at) {
      while (parent[at] != at) at = parent[at] = parent[parent[at]];
      return at;
    };
    std::map<Place, std::uint32_t> first;
    for (std::uint32_t i = 0; i < chosen_.size(); ++i) {
      for (const Place& place : chosen_[i].accesses) {
        const auto [at, is_new] = first.try_emplace(place, i);
        if (!is_new) parent[root(i)] = root(at->second);
      }
    }
    std::map<std::uint32_t, std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < chosen_.size(); ++i) {
      const auto [at, is_new] =
          numbers.try_emplace(root(i), static_cast<std::uint32_t>(plan_.locks.size()));
      if (is_new) plan_.locks.push_back({chosen_[i].name, {}, 0, 0, false});
      plan_.locks[at->second].variables.push_back(chosen_[i].name);
      chosen_[i].group = at->second;
    }
    exact_.assign(plan_.locks.size(), true);
    std::vector<std::uint32_t> members(plan_.locks.size());
    for (const Chosen& chosen : chosen_) {
      ++members[chosen.group];
      for (const Place& place : chosen.accesses) {
        accesses_[chosen.group].insert(place);
        if (!program_.functions[place.first].nodes[place.second].exact) {
          exact_[chosen.group] = false;
        }
      }
    }
    for (std::size_t lock = 0; lock < members.size(); ++lock) {
      if (members[lock] != 1) exact_[lock] = false;
    }
  }

  Placement& placement(std::uint32_t function, std::uint32_t lock) {
    return placements_
        .try_emplace({function, lock}, Placement(graphs_[function], options_.most_apart))
        .first->second;
  }

  void place_pairs() {
    for (const Chosen& chosen : chosen_) {
      PlannedLock& lock = plan_.locks[chosen.group];
      for (const auto& [key, pair] : chosen.variable->pairs) {
        if (pair.type == AtomicType::kNone || is_guarded(*chosen.variable, pair)) continue;
        const AtomicType type = needed_for(key, pair);
        const std::vector<Place> first = nodes_at(key.function, key.first);
        const std::vector<Place> second = nodes_at(key.function, key.second);
        if (missing_.contains(key.function)) {
          plan_.given_up.push_back(
              fmt::format("{}: {} is not in this program", chosen.name, key.function));
          continue;
        }
        bool placed = false;
        bool over_wait = false;
        for (const Place& from : first) {
          for (const Place& to : second) {
            if (from.first != to.first) continue;
            const Placement::Added added =
                add(chosen, from.first, from.second, to.second, pair, type);
            placed |= added == Placement::Added::kYes;
            over_wait |= added == Placement::Added::kOverWait;
          }
        }
        if (placed) {
          ++(type == AtomicType::kRead ? lock.read_pairs : lock.exclusive_pairs);
        } else {
          plan_.given_up.push_back(fmt::format(
              "{}: no path {}in {} from {} to {}", chosen.name, over_wait ? "without a wait " : "",
              key.function, short_place(key.first.place), short_place(key.second.place)));
        }
      }
    }
  }

  Placement::Added add(const Chosen& chosen, std::uint32_t f, NodeId from, NodeId to,
                       const Pair& pair, AtomicType type) {
    std::vector<NodeId> others;
    if (exact_[chosen.group]) {
      for (const Place& place : accesses_[chosen.group]) {
        if (place.first == f) others.push_back(place.second);
      }
    }
    const std::vector<Node>& nodes = program_.functions[f].nodes;
    return placement(f, chosen.group)
        .add_pair(
            from, to, type, others,
            fmt::format("{} pair {} .. {}, seen {}", name_of(pair.type),
                        short_place(nodes[from].place), short_place(nodes[to].place), pair.seen));
  }

  /// None of its pairs has a path.
  [[nodiscard]] static bool keeps_nothing(const PlannedLock& lock) {
    return lock.read_pairs + lock.exclusive_pairs == 0;
  }

  // A write must not fall into anybody's pair, a read not into an exclusive one.
  void place_singles() {
    for (const auto& [lock, places] : accesses_) {
      if (keeps_nothing(plan_.locks[lock])) continue;
      const bool exclusive = plan_.locks[lock].exclusive_pairs != 0;
      for (const auto& [f, node] : places) {
        const Node& at = program_.functions[f].nodes[node];
        const bool writes =
            at.kind == Node::Kind::kAccess ? at.writes : writes_.contains({f, node});
        if (!writes && !exclusive) continue;
        placement(f, lock).add_single(
            node, writes ? AtomicType::kExclusive : AtomicType::kRead,
            writes ? "a write, kept out of pairs elsewhere" : "a read, likewise");
      }
    }
  }

  /// One lock for many keeps every pair, or none of them when its order with the program's locks
  /// cannot be made free of cycles: then some are given up, so that the others can be kept.
  std::vector<std::uint32_t> resolve() {
    // What hoisting many locks takes grows with this product: 10 seconds at this size.
    constexpr std::size_t kMostWork = 2'000'000;
    std::size_t nodes = 0;
    for (const Graph& graph : graphs_) nodes += graph.size();
    const bool much = plan_.locks.size() * nodes > kMostWork;
    Plan joined = plan_;
    std::vector<std::uint32_t> ranks =
        resolve_order(program_, graphs_, options_, ManyLocks::kJoin, joined);
    const bool lost = std::ranges::any_of(joined.locks, [](const PlannedLock& lock) {
      return lock.dropped && lock.variables.size() > 1;
    });
    if (!lost) {
      plan_ = std::move(joined);
      return ranks;
    }
    return resolve_order(program_, graphs_, options_, much ? ManyLocks::kGiveUp : ManyLocks::kHoist,
                         plan_);
  }

  void sort_locks(const std::vector<std::uint32_t>& ranks) {
    std::vector<std::uint32_t> order(plan_.locks.size());
    std::iota(order.begin(), order.end(), 0U);
    std::vector<std::uint32_t> number(order.size());
    std::erase_if(order, [this](std::uint32_t lock) {
      return plan_.locks[lock].joined || keeps_nothing(plan_.locks[lock]);
    });
    std::ranges::sort(order, {}, [&ranks](std::uint32_t lock) { return ranks[lock]; });
    std::vector<PlannedLock> sorted;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      number[order[i]] = i;
      sorted.push_back(std::move(plan_.locks[order[i]]));
    }
    plan_.locks = std::move(sorted);
    for (PlannedPlace& place : plan_.places) place.lock = number[place.lock];
    std::ranges::sort(plan_.places, {}, [](const PlannedPlace& place) {
      return std::pair(place.function, place.lock);
    });
  }

  const Program& program_;
  const Profile& profile_;
  const PlanOptions& options_;
  Plan plan_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> functions_;
  std::unordered_map<std::string, std::vector<Place>> by_variable_;
  std::vector<Chosen> chosen_;
  std::set<std::string> missing_;
  std::set<std::string> changed_;
  std::vector<Graph> graphs_;
  std::map<std::uint32_t, std::set<Place>> accesses_;  // by lock
  std::set<Place> writes_;                             // calls that write
  std::vector<bool> exact_;                            // by lock: one location
  std::map<std::pair<std::uint32_t, std::uint32_t>, Placement> placements_;
};

template <class Action>
void for_each_node(const PlannedPlace& place, std::size_t nodes, Action action) {
  for (NodeId node = 0; node < nodes; ++node) {
    const NodeOps& ops = place.placement.ops(node);
    if (!ops.empty()) action(node, ops);
  }
}

std::string reason_of(const Placement& placement, Origin origin) {
  std::string text;
  std::size_t told = 0;
  for (const Constraint& constraint : placement.constraints()) {
    if (constraint.origin() != origin) continue;
    if (++told > 3) return text + "; …";
    text += (text.empty() ? "" : "; ") + constraint.reason;
  }
  return text;
}

/// Where a node stands, for people: blocks and exits have no place of their own.
std::string where(const Function& function, NodeId node) {
  if (!function.nodes[node].place.empty()) {
    return std::string(short_place(function.nodes[node].place));
  }
  // The next label on the way says more than the number of a block.
  NodeId at = node;
  for (unsigned steps = 0; steps < 16 && function.nodes[at].place.empty(); ++steps) {
    if (function.nodes[at].next.empty()) return "the end";
    at = function.nodes[at].next.front();
  }
  return function.nodes[at].place.empty()
             ? fmt::format("block {}", node)
             : fmt::format("the way to {}", short_place(function.nodes[at].place));
}

}  // namespace

Result<Plan> make_plan(const Program& program, const Profile& profile, const PlanOptions& options) {
  return Planner(program, profile, options).run();
}

PlanFigures figures_of(const Plan& plan) {
  PlanFigures figures;
  for (const PlannedPlace& place : plan.places) {
    if (place.placement.constraints().empty()) continue;
    const std::size_t nodes = place.placement.constraints().front().on.size();
    for_each_node(place, nodes, [&figures](NodeId, const NodeOps& ops) {
      for (const HeldOrigin& acquire : ops.acquires) {
        ++(acquire.mode == AtomicType::kRead ? figures.acquire_read : figures.acquire_exclusive);
      }
      figures.degrade += ops.degrades.size();
      figures.release += ops.releases.size();
    });
  }
  return figures;
}

std::string to_json(const Plan& plan, const Program& program) {
  std::string text = "{\"version\": 1, \"kind\": \"syndrome-plan\",\n\"locks\": [";
  for (std::size_t i = 0; i < plan.locks.size(); ++i) {
    text += fmt::format("{}\n {{\"lock\": {}, \"name\": {}}}", i == 0 ? "" : ",", i,
                        quoted(plan.locks[i].name));
  }
  text += "],\n\"functions\": [";
  for (std::size_t i = 0; i < plan.places.size();) {
    const std::uint32_t f = plan.places[i].function;
    const Function& function = program.functions[f];
    text += fmt::format(
        "{}\n{{\"function\": {}, \"name\": {}, \"file\": {}, \"internal\": {}, \"hash\": {}, "
        "\"nodes\": {}, \"operations\": [",
        i == 0 ? "" : ",", quoted(function.linkage), quoted(function.name), quoted(function.file),
        function.internal, function.hash, function.nodes.size());
    // By node and then by lock: within a node releases come first, then locks in their order.
    std::map<NodeId, std::string> releases;
    std::map<NodeId, std::string> acquires;
    for (; i < plan.places.size() && plan.places[i].function == f; ++i) {
      const PlannedPlace& place = plan.places[i];
      for_each_node(place, function.nodes.size(), [&](NodeId node, const NodeOps& ops) {
        const auto line = [&](std::string_view op, Origin origin, bool reason) {
          return fmt::format(
              "\n  {{\"node\": {}, \"before\": {}, \"op\": \"{}\", \"lock\": {}, \"origin\": "
              "{}{}}},",
              node, quoted(where(function, node)), op, place.lock, origin,
              reason ? ", \"why\": " + quoted(reason_of(place.placement, origin)) : "");
        };
        for (const Origin origin : ops.releases) releases[node] += line("release", origin, false);
        for (const Origin origin : ops.degrades) releases[node] += line("degrade", origin, false);
        for (const HeldOrigin& acquire : ops.acquires) {
          acquires[node] += line(name_of(acquire.mode), acquire.origin, true);
        }
      });
    }
    std::set<NodeId> nodes;
    for (const auto& [node, lines] : releases) nodes.insert(node);
    for (const auto& [node, lines] : acquires) nodes.insert(node);
    for (const NodeId node : nodes) text += releases[node] + acquires[node];
    if (text.back() == ',') text.pop_back();
    text += "]}";
  }
  return text + "]}\n";
}

std::string to_text(const Plan& plan, const Program& program) {
  std::string text;
  for (std::uint32_t lock = 0; lock < plan.locks.size(); ++lock) {
    const PlannedLock& planned = plan.locks[lock];
    text += fmt::format("lock {} for {}: {} exclusive-atomic and {} read-atomic pairs\n", lock,
                        planned.name, planned.exclusive_pairs, planned.read_pairs);
    for (std::size_t i = 1; i < planned.variables.size(); ++i) {
      text += fmt::format("  also for {}\n", planned.variables[i]);
    }
    for (const PlannedPlace& place : plan.places) {
      if (place.lock != lock) continue;
      const Function& function = program.functions[place.function];
      text += fmt::format("  {}\n", function.name);
      for_each_node(place, function.nodes.size(), [&](NodeId node, const NodeOps& ops) {
        const std::string at = where(function, node);
        const auto from = [&](Origin origin) { return where(function, origin & ~kHoistedBit); };
        for (const Origin origin : ops.releases) {
          text += fmt::format("    before {}: release what {} took\n", at, from(origin));
        }
        for (const Origin origin : ops.degrades) {
          text += fmt::format("    before {}: degrade what {} took to read\n", at, from(origin));
        }
        for (const HeldOrigin& acquire : ops.acquires) {
          text += fmt::format("    before {}: acquire {} ({})\n", at, name_of(acquire.mode),
                              reason_of(place.placement, acquire.origin));
        }
      });
    }
  }
  for (const std::string& hoisted : plan.hoisted) text += fmt::format("hoisted: {}\n", hoisted);
  for (const std::string& lost : plan.given_up) text += fmt::format("not kept: {}\n", lost);
  text += fmt::format(
      "{} lock{}; acquire read {}, exclusive {}, degrade {}, release {} (before deadlock "
      "resolution {}, {}, {}, {})\n",
      plan.locks.size(), plan.locks.size() == 1 ? "" : "s", plan.after.acquire_read,
      plan.after.acquire_exclusive, plan.after.degrade, plan.after.release,
      plan.before.acquire_read, plan.before.acquire_exclusive, plan.before.degrade,
      plan.before.release);
  return text;
}

}  // namespace syndrome::enforce
