#include "enforce/plan/place.h"

#include <algorithm>

namespace syndrome::enforce {
namespace {

constexpr NodeId kNowhere = UINT32_MAX;

template <class T>
void insert_sorted(std::vector<T>& list, const T& value) {
  const auto at = std::ranges::lower_bound(list, value);
  if (at == list.end() || *at != value) list.insert(at, value);
}

/// Makes `to` the union. Whether it grew.
bool unite(std::vector<bool>& to, const std::vector<bool>& from) {
  bool grew = false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (from[i] && !to[i]) to[i] = grew = true;
  }
  return grew;
}

// Ways in which the lock may be held at one node that are told apart. More are summed up: not at
// all, or by every origin that any of them has.
constexpr std::size_t kMostStates = 64;

/// Whether it did anything.
bool summarize(std::vector<HeldState>& states) {
  if (states.size() <= kMostStates) return false;
  HeldState all;
  for (const HeldState& state : states) {
    for (const HeldOrigin& held : state) {
      const auto known = std::ranges::find(all, held.origin, &HeldOrigin::origin);
      if (known == all.end()) {
        insert_sorted(all, held);
      } else {
        known->mode = std::max(known->mode, held.mode);
      }
    }
  }
  states.clear();
  states.emplace_back();
  insert_sorted(states, all);
  return true;
}

}  // namespace

Graph::Graph(const Function& function)
    : next(function.nodes.size()), previous(function.nodes.size()) {
  for (NodeId node = 0; node < function.nodes.size(); ++node) {
    for (const NodeId to : function.nodes[node].next) {
      next[node].push_back(to);
      previous[to].push_back(node);
    }
  }
}

std::vector<bool> Graph::reach(NodeId from, NodeId stop, bool backwards,
                               const std::vector<bool>& through) const {
  const auto& edges = backwards ? previous : next;
  std::vector<bool> seen(size());
  std::vector<NodeId> work = {from};
  while (!work.empty()) {
    const NodeId at = work.back();
    work.pop_back();
    for (const NodeId to : edges[at]) {
      if (seen[to] || (!through.empty() && !through[to])) continue;
      seen[to] = true;
      if (to != stop) work.push_back(to);
    }
  }
  return seen;
}

bool Placement::add_pair(NodeId from, NodeId to, AtomicType type, const std::vector<NodeId>& others,
                         std::string reason) {
  // onpath: the accesses of a pair follow each other, so neither stands inside of a path.
  const std::vector<bool> after = graph_->reach(from, to, false);
  if (!after[to]) return false;
  const std::vector<bool> ahead = graph_->reach(to, from, true);
  std::vector<bool> allowed(graph_->size());
  for (NodeId node = 0; node < graph_->size(); ++node) allowed[node] = after[node] && ahead[node];
  allowed[to] = true;
  for (const NodeId other : others) {
    if (other == from || other == to || !allowed[other]) continue;
    // From here every way to `to` leads through the other access, which makes another pair of it.
    std::vector<bool> through(graph_->size(), true);
    through[other] = false;
    const std::vector<bool> around = graph_->reach(to, kNowhere, true, through);
    for (NodeId node = 0; node < graph_->size(); ++node) {
      if (node != to && (node == other || !around[node])) allowed[node] = false;
    }
  }
  Constraint constraint{from, to, type, Constraint::Why::kPair, {}, std::move(reason)};
  constraint.on = graph_->reach(from, to, false, allowed);
  constraint.on[from] = true;
  if (!constraint.on[to]) return false;
  constraints_.push_back(std::move(constraint));
  return true;
}

void Placement::add_single(NodeId at, AtomicType type, std::string reason) {
  Constraint constraint{at, at, type, Constraint::Why::kSingle, {}, std::move(reason)};
  constraint.on.resize(graph_->size());
  constraint.on[at] = true;
  constraints_.push_back(std::move(constraint));
}

bool Placement::add_hoisted(NodeId from, NodeId to, AtomicType type, std::vector<bool> on,
                            std::string reason) {
  on[from] = true;
  for (Constraint& known : constraints_) {
    if (known.origin() != (from | kHoistedBit)) continue;
    const bool grew = unite(known.on, on);
    const bool stronger = type > known.type;
    known.type = std::max(known.type, type);
    return grew || stronger;
  }
  constraints_.push_back(
      {from, to, type, Constraint::Why::kHoisted, std::move(on), std::move(reason)});
  return true;
}

AtomicType mode_of(const HeldState& state) {
  AtomicType most = AtomicType::kNone;
  for (const HeldOrigin& held : state) most = std::max(most, held.mode);
  return most;
}

AtomicType strongest(const std::vector<HeldState>& states) {
  AtomicType most = AtomicType::kNone;
  for (const HeldState& state : states) most = std::max(most, mode_of(state));
  return most;
}

bool surely(const std::vector<HeldState>& states, AtomicType mode) {
  return !states.empty() &&
         std::ranges::all_of(states, [mode](const HeldState& s) { return mode_of(s) >= mode; });
}

AtomicType Placement::kept(Origin origin, NodeId node) const {
  AtomicType most = AtomicType::kNone;
  for (const std::uint32_t index : at_[node]) {
    if (constraints_[index].origin() == origin) most = std::max(most, constraints_[index].type);
  }
  return most;
}

std::vector<HeldOrigin> Placement::acquires_at(NodeId node) const {
  std::vector<HeldOrigin> found;
  for (const std::uint32_t index : at_[node]) {
    const Constraint& constraint = constraints_[index];
    if (constraint.from != node) continue;
    const auto known = std::ranges::find(found, constraint.origin(), &HeldOrigin::origin);
    if (known == found.end()) {
      found.push_back({constraint.origin(), constraint.type});
    } else {
      known->mode = std::max(known->mode, constraint.type);
    }
  }
  std::ranges::sort(found);
  return found;
}

HeldState Placement::arrive(const HeldState& state, NodeId node) const {
  HeldState left;
  for (const HeldOrigin& held : state) {
    const AtomicType mode = std::min(held.mode, kept(held.origin, node));
    if (mode != AtomicType::kNone) left.push_back({held.origin, mode});
  }
  return left;
}

HeldState Placement::acquire(HeldState state, NodeId node) const {
  for (const HeldOrigin& acquired : acquires_at(node)) {
    std::erase_if(state, [&](const HeldOrigin& held) { return held.origin == acquired.origin; });
    insert_sorted(state, acquired);
  }
  return state;
}

void Placement::flow() {
  const std::size_t nodes = graph_->size();
  at_.assign(nodes, {});
  for (std::uint32_t i = 0; i < constraints_.size(); ++i) {
    for (NodeId node = 0; node < nodes; ++node) {
      if (constraints_[i].on[node]) at_[node].push_back(i);
    }
  }
  before_.assign(nodes, {});
  during_.assign(nodes, {});
  ops_.assign(nodes, {});
  if (nodes == 0) return;
  std::vector<NodeId> work = {0};
  before_[0].emplace_back();
  std::vector<bool> waiting(nodes);
  std::vector<bool> visited(nodes);
  while (!work.empty()) {
    const NodeId node = work.back();
    work.pop_back();
    waiting[node] = false;
    visited[node] = true;
    std::vector<HeldState>& during = during_[node];
    during.clear();
    for (const HeldState& state : before_[node]) insert_sorted(during, acquire(state, node));
    for (const NodeId to : graph_->next[node]) {
      bool grew = !visited[to];
      for (const HeldState& state : during) {
        const std::size_t size = before_[to].size();
        insert_sorted(before_[to], arrive(state, to));
        grew |= before_[to].size() != size;
      }
      grew |= summarize(before_[to]);
      if (grew && !waiting[to]) {
        waiting[to] = true;
        work.push_back(to);
      }
    }
  }
  for (NodeId node = 0; node < nodes; ++node) {
    NodeOps& ops = ops_[node];
    if (!visited[node]) continue;
    for (const NodeId from : graph_->previous[node]) {
      for (const HeldState& state : during_[from]) {
        for (const HeldOrigin& held : state) {
          const AtomicType left = kept(held.origin, node);
          if (left == AtomicType::kNone) {
            insert_sorted(ops.releases, held.origin);
          } else if (left < held.mode) {
            insert_sorted(ops.degrades, held.origin);
          }
        }
      }
    }
    ops.acquires = acquires_at(node);
    // What is taken again at once is not given back before.
    for (const HeldOrigin& acquired : ops.acquires) {
      std::erase(ops.releases, acquired.origin);
      std::erase(ops.degrades, acquired.origin);
    }
  }
}

// A single access inside of what is held anyway needs nothing of its own.
void Placement::drop_singles() {
  std::vector<Constraint> singles;
  std::vector<Constraint> others;
  for (Constraint& constraint : constraints_) {
    (constraint.why == Constraint::Why::kSingle ? singles : others)
        .push_back(std::move(constraint));
  }
  constraints_ = std::move(others);
  flow();
  std::erase_if(singles,
                [this](const Constraint& one) { return surely(during_[one.from], one.type); });
  for (Constraint& single : singles) constraints_.push_back(std::move(single));
  flow();
}

bool Placement::strengthen_upgrades() {
  bool changed = false;
  for (NodeId node = 0; node < graph_->size(); ++node) {
    if (mode_of(ops_[node].acquires) != AtomicType::kExclusive) continue;
    for (const HeldState& state : before_[node]) {
      if (mode_of(state) != AtomicType::kRead) continue;
      for (Constraint& constraint : constraints_) {
        if (constraint.type == AtomicType::kExclusive) continue;
        if (std::ranges::find(state, constraint.origin(), &HeldOrigin::origin) == state.end()) {
          continue;
        }
        constraint.type = AtomicType::kExclusive;
        changed = true;
      }
    }
  }
  return changed;
}

bool Placement::strengthen(NodeId at) {
  bool changed = false;
  for (const Constraint& constraint : constraints_) {
    if (!constraint.on[at]) continue;
    for (Constraint& same : constraints_) {
      if (same.origin() != constraint.origin() || same.type == AtomicType::kExclusive) continue;
      same.type = AtomicType::kExclusive;
      changed = true;
    }
  }
  return changed;
}

void Placement::solve() {
  drop_singles();
  while (strengthen_upgrades()) flow();
}

}  // namespace syndrome::enforce
