#include "enforce/plan/place.h"

#include <algorithm>
#include <functional>

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

// Ways in which the lock may be held at one node that are told apart. More are summed up.
constexpr std::size_t kMostStates = 16;

/// Takes the origins of `state` into `all`. Whether it had not all of them.
bool unite(HeldState& all, const HeldState& state) {
  bool grew = false;
  for (const HeldOrigin& held : state) {
    const auto known = std::ranges::find(all, held.origin, &HeldOrigin::origin);
    if (known == all.end()) {
      insert_sorted(all, held);
      grew = true;
    } else if (known->mode < held.mode) {
      known->mode = held.mode;
      grew = true;
    }
  }
  return grew;
}

}  // namespace

Placement::Added Placement::add_pair(NodeId from, NodeId to, AtomicType type,
                                     const std::vector<NodeId>& others, std::string reason) {
  // onpath: the accesses of a pair follow each other, so neither stands inside of a path. But a
  // call may be passed without the access that it can lead to.
  const NodeId end = graph_->calls[to] ? kNowhere : to;
  const NodeId begin = graph_->calls[from] ? kNowhere : from;
  const std::vector<bool> after = graph_->reach(from, end, false);
  if (!after[to]) return Added::kNoPath;
  const std::vector<bool> ahead = graph_->reach(to, begin, true);
  const std::vector<bool> waits = graph_->waits_between(from, to);
  if (!waits.empty() && (waits[from] || waits[to])) return Added::kOverWait;
  std::vector<bool> allowed(graph_->size());
  bool waited = false;
  for (NodeId node = 0; node < graph_->size(); ++node) {
    allowed[node] = after[node] && ahead[node];
    if (!allowed[node] || waits.empty() || !waits[node]) continue;
    allowed[node] = false;
    waited = true;
  }
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
  constraint.on = graph_->reach(from, end, false, allowed);
  if (!constraint.on[to]) return waited ? Added::kOverWait : Added::kNoPath;
  constraint.on[from] = true;
  // What a wait cuts off is held for nothing.
  if (waited) {
    std::vector<bool> leads = graph_->reach(to, begin, true, constraint.on);
    leads[from] = leads[to] = true;
    for (NodeId node = 0; node < graph_->size(); ++node) {
      if (!leads[node]) constraint.on[node] = false;
    }
  }
  constraints_.push_back(std::move(constraint));
  return Added::kYes;
}

void Placement::add_single(NodeId at, AtomicType type, std::string reason) {
  Constraint constraint{at, at, type, Constraint::Why::kSingle, {}, std::move(reason)};
  constraint.on.resize(graph_->size());
  constraint.on[at] = true;
  constraints_.push_back(std::move(constraint));
}

bool Placement::add_hoisted(NodeId from, NodeId to, AtomicType type, std::vector<bool> on,
                            const std::function<std::string()>& reason) {
  on[from] = true;
  for (Constraint& known : constraints_) {
    if (known.why != Constraint::Why::kHoisted || known.from != from) continue;
    const bool grew = unite(known.on, on);
    const bool stronger = type > known.type;
    known.type = std::max(known.type, type);
    return grew || stronger;
  }
  constraints_.push_back({from, to, type, Constraint::Why::kHoisted, std::move(on), reason()});
  return true;
}

AtomicType mode_of(const HeldState& state) {
  AtomicType most = AtomicType::kNone;
  for (const HeldOrigin& held : state) most = std::max(most, held.mode);
  return most;
}

/// Of what is hoisted always, of pairs when there are many.
void Placement::share_origins() {
  const auto share = [this](Constraint::Why why) {
    std::vector<Constraint*> all;
    for (Constraint& constraint : constraints_) {
      if (constraint.why == why) all.push_back(&constraint);
    }
    std::ranges::sort(all, {}, &Constraint::from);
    // By node: the first that is held there. Those that meet at a node get the lower number, until
    // none changes.
    for (Constraint* constraint : all) constraint->shared = constraint->from;
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<NodeId> first(graph_->size(), kNowhere);
      for (const Constraint* constraint : all) {
        for (NodeId node = 0; node < graph_->size(); ++node) {
          if (constraint->on[node]) first[node] = std::min(first[node], constraint->shared);
        }
      }
      for (Constraint* constraint : all) {
        for (NodeId node = 0; node < graph_->size(); ++node) {
          if (!constraint->on[node] || first[node] >= constraint->shared) continue;
          constraint->shared = first[node];
          changed = true;
        }
      }
    }
  };
  share(Constraint::Why::kHoisted);
  std::vector<NodeId> heads;
  for (const Constraint& constraint : constraints_) {
    if (constraint.why == Constraint::Why::kPair) insert_sorted(heads, constraint.from);
  }
  if (heads.size() > most_apart_) share(Constraint::Why::kPair);
}

void Placement::index() {
  share_origins();
  origins_.clear();
  for (const Constraint& constraint : constraints_) insert_sorted(origins_, constraint.origin());
  kept_.assign(origins_.size(), std::vector<AtomicType>(graph_->size(), AtomicType::kNone));
  takes_.assign(graph_->size(), {});
  for (const Constraint& constraint : constraints_) {
    const auto at = std::ranges::lower_bound(origins_, constraint.origin());
    std::vector<AtomicType>& kept = kept_[static_cast<std::size_t>(at - origins_.begin())];
    for (NodeId node = 0; node < graph_->size(); ++node) {
      if (constraint.on[node]) kept[node] = std::max(kept[node], constraint.type);
    }
    if (constraint.on[constraint.from]) {
      unite(takes_[constraint.from], {{constraint.origin(), constraint.type}});
    }
  }
}

AtomicType Placement::kept(Origin origin, NodeId node) const {
  const auto at = std::ranges::lower_bound(origins_, origin);
  if (at == origins_.end() || *at != origin) return AtomicType::kNone;
  return kept_[static_cast<std::size_t>(at - origins_.begin())][node];
}

Placement::StateId Placement::number(const HeldState& state) const {
  const auto [at, added] = numbers_.try_emplace(state, static_cast<StateId>(states_.size()));
  if (added) {
    states_.push_back(state);
    modes_.push_back(mode_of(state));
  }
  return at->second;
}

Placement::StateId Placement::arrive(StateId state, NodeId node) const {
  Steps& known = arrivals_[node];
  const auto found = std::ranges::find(known, state, &std::pair<StateId, StateId>::first);
  if (found != known.end()) return found->second;
  HeldState left;
  for (const HeldOrigin& held : states_[state]) {
    const AtomicType mode = std::min(held.mode, kept(held.origin, node));
    if (mode != AtomicType::kNone) left.push_back({held.origin, mode});
  }
  return known.emplace_back(state, number(left)).second;
}

Placement::StateId Placement::acquire(StateId state, NodeId node) const {
  if (takes_[node].empty()) return state;
  Steps& known = acquires_[node];
  const auto found = std::ranges::find(known, state, &std::pair<StateId, StateId>::first);
  if (found != known.end()) return found->second;
  HeldState held = states_[state];
  // Taking it again for less does not degrade it.
  unite(held, takes_[node]);
  return known.emplace_back(state, number(held)).second;
}

Placement::StateId Placement::join(StateId a, StateId b) const {
  if (a == b) return a;
  HeldState all = states_[a];
  return unite(all, states_[b]) ? number(all) : a;
}

Placement::StateId Placement::meet(StateId a, StateId b) const {
  if (a == b) return a;
  HeldState both;
  for (const HeldOrigin& held : states_[a]) {
    const auto other = std::ranges::find(states_[b], held.origin, &HeldOrigin::origin);
    if (other != states_[b].end()) both.push_back({held.origin, std::min(held.mode, other->mode)});
  }
  return number(both);
}

Placement::Modes Placement::modes_of(const std::vector<StateId>& states) const {
  Modes modes{AtomicType::kTop, AtomicType::kNone, false};
  for (const StateId state : states) {
    modes.least = std::min(modes.least, modes_[state]);
    modes.most = std::max(modes.most, modes_[state]);
    modes.reads |= modes_[state] == AtomicType::kRead;
  }
  return modes;
}

void Placement::flow() {
  const std::size_t nodes = graph_->size();
  ++version_;
  index();
  states_.clear();
  modes_.clear();
  numbers_.clear();
  (void)number({});
  arrivals_.assign(nodes, {});
  acquires_.assign(nodes, {});
  ids_.assign(nodes, {});
  before_.assign(nodes, {});
  during_.assign(nodes, {});
  ops_.assign(nodes, {});
  if (nodes == 0) return;
  ids_[0].push_back(0);
  std::vector<bool> visited(nodes);
  // Too many states are summed up, and stay so: what all of them have, and what any of them has.
  // Otherwise they would never come to rest in a loop.
  std::vector<bool> summed(nodes);
  Worklist work(*graph_);
  work.add(0);
  while (!work.empty()) {
    const NodeId node = work.take();
    visited[node] = true;
    const std::vector<StateId> here = ids_[node];  // a node may lead to itself
    for (const NodeId to : graph_->next[node]) {
      bool grew = !visited[to];
      std::vector<StateId>& there = ids_[to];
      for (const StateId before : here) {
        const StateId state = arrive(acquire(before, node), to);
        if (std::ranges::find(there, state) != there.end()) continue;
        if (!summed[to] && there.size() < kMostStates) {
          there.push_back(state);
          grew = true;
          continue;
        }
        StateId least = state;
        StateId most = state;
        for (const StateId each : there) {
          least = meet(least, each);
          most = join(most, each);
        }
        const std::vector<StateId> sum = {least, most};
        grew |= sum != there;
        summed[to] = true;
        there = sum;
      }
      if (grew) work.add(to);
    }
  }
  std::vector<std::vector<StateId>> during(nodes);
  for (NodeId node = 0; node < nodes; ++node) {
    for (const StateId before : ids_[node]) during[node].push_back(acquire(before, node));
    before_[node] = modes_of(ids_[node]);
    during_[node] = modes_of(during[node]);
  }
  for (NodeId node = 0; node < nodes; ++node) {
    NodeOps& ops = ops_[node];
    if (!visited[node]) continue;
    for (const NodeId from : graph_->previous[node]) {
      for (const StateId state : during[from]) {
        for (const HeldOrigin& held : states_[state]) {
          const AtomicType left = kept(held.origin, node);
          if (left == AtomicType::kNone) {
            insert_sorted(ops.releases, held.origin);
          } else if (left < held.mode) {
            insert_sorted(ops.degrades, held.origin);
          }
        }
      }
    }
    ops.acquires = takes_[node];
    // The strongest first: two who have read and then want to exclude wait for each other.
    std::ranges::sort(ops.acquires, [](const HeldOrigin& a, const HeldOrigin& b) {
      return a.mode != b.mode ? a.mode > b.mode : a.origin < b.origin;
    });
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
                [this](const Constraint& one) { return surely_during(one.from, one.type); });
  for (Constraint& single : singles) constraints_.push_back(std::move(single));
  flow();
}

bool Placement::strengthen_upgrades() {
  bool changed = false;
  for (NodeId node = 0; node < graph_->size(); ++node) {
    if (mode_of(ops_[node].acquires) != AtomicType::kExclusive) continue;
    for (const StateId id : ids_[node]) {
      if (modes_[id] != AtomicType::kRead) continue;
      const HeldState& state = states_[id];
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

void Placement::absorb(const Placement& other) {
  for (const Constraint& constraint : other.constraints_) {
    const auto known = std::ranges::find_if(constraints_, [&](const Constraint& own) {
      return own.why == Constraint::Why::kHoisted && own.why == constraint.why &&
             own.from == constraint.from;
    });
    if (known == constraints_.end()) {
      constraints_.push_back(constraint);
    } else {
      unite(known->on, constraint.on);
      known->type = std::max(known->type, constraint.type);
    }
  }
}

void Placement::solve() {
  drop_singles();
  while (strengthen_upgrades()) flow();
}

}  // namespace syndrome::enforce
