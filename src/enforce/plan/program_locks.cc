#include "enforce/plan/program_locks.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace syndrome::enforce {
namespace {

/// Leaves what both have. Whether that is less than before.
bool keep_common(LockSet& set, const LockSet& other) {
  return std::erase_if(set, [&other](LockNumber lock) { return !other.contains(lock); }) != 0;
}

/// Of an acquire that may fail.
bool is_try(const Node& node) {
  return std::ranges::any_of(node.callees, [](const std::string& callee) {
    return callee.find("try") != std::string::npos;
  });
}

}  // namespace

CallGraph::CallGraph(const Program& program) {
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_name;
  std::unordered_map<std::string, std::vector<std::uint32_t>> taken;
  std::vector<std::uint32_t> all_taken;
  const std::vector<std::uint32_t> nobody;
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) {
    const Function& function = program.functions[f];
    by_name[function.linkage].push_back(f);
    if (function.address_taken) {
      taken[function.signature].push_back(f);
      all_taken.push_back(f);
    }
  }
  callees_.resize(program.functions.size());
  callers_.resize(program.functions.size());
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) {
    const Function& function = program.functions[f];
    for (NodeId node = 0; node < function.nodes.size(); ++node) {
      const Node& call = function.nodes[node];
      if (call.kind != Node::Kind::kCall || call.op != Node::LockOp::kNone) continue;
      std::set<std::uint32_t> found;
      for (const std::string& name : call.callees) {
        const auto known = by_name.find(name);
        if (known == by_name.end()) continue;
        for (const std::uint32_t callee : known->second) {
          const Function& target = program.functions[callee];
          if (!target.internal || target.file == function.file || known->second.size() == 1) {
            found.insert(callee);
          }
        }
      }
      if (call.indirect) {
        const auto known = taken.find(call.signature);
        const std::vector<std::uint32_t>& list =
            call.signature.empty() ? all_taken : (known == taken.end() ? nobody : known->second);
        found.insert(list.begin(), list.end());
      }
      if (found.empty()) continue;
      for (const std::uint32_t callee : found) callers_[callee].insert(f);
      callees_[f].emplace(node, std::vector<std::uint32_t>(found.begin(), found.end()));
    }
  }
}

ProgramLocks::ProgramLocks(const Program& program, const std::vector<Graph>& graphs,
                           const CallGraph& calls, std::size_t first)
    : program_(program), graphs_(graphs), calls_(calls), first_(first) {
  number();
  follow_all();
}

void ProgramLocks::number() {
  bool unnamed = false;
  for (const Function& function : program_.functions) {
    for (const Node& node : function.nodes) {
      unnamed |= node.op == Node::LockOp::kAcquire && node.lock.empty();
    }
  }
  // A lock that has no name may be any of them: then they are one.
  for (const Function& function : program_.functions) {
    for (const Node& node : function.nodes) {
      if (node.op == Node::LockOp::kNone) continue;
      const std::string name = unnamed ? std::string("locks") : node.lock;
      const auto number = static_cast<LockNumber>(first_ + names_.size());
      if (numbers_.try_emplace(name, number).second) names_.push_back(name);
    }
  }
  if (unnamed) merged_ = static_cast<LockNumber>(first_);
}

ProgramLocks::Effect ProgramLocks::effect_of(std::uint32_t f, NodeId node) const {
  const Node& at = program_.functions[f].nodes[node];
  Effect effect;
  if (at.op == Node::LockOp::kAcquire) {
    effect.holds.insert(number_of(at));
    if (!is_try(at)) effect.surely_holds = effect.holds;
    return effect;
  }
  if (at.op == Node::LockOp::kRelease) {
    effect.releases.insert(number_of(at));
    effect.may_release = effect.releases;
    effect.may_release_any = at.lock.empty();
    return effect;
  }
  bool first = true;
  for (const std::uint32_t callee : calls_.callees(f, node)) {
    const Effect& theirs = effects_[callee];
    if (first || !at.indirect) {
      effect.holds.insert(theirs.holds.begin(), theirs.holds.end());
    } else {
      keep_common(effect.holds, theirs.holds);
    }
    effect.may_release.insert(theirs.may_release.begin(), theirs.may_release.end());
    effect.may_release_any |= theirs.may_release_any;
    if (first) {
      effect.releases = theirs.releases;
      effect.surely_holds = theirs.surely_holds;
    } else {
      keep_common(effect.releases, theirs.releases);
      keep_common(effect.surely_holds, theirs.surely_holds);
    }
    first = false;
  }
  return effect;
}

void ProgramLocks::follow_all() {
  effects_.resize(program_.functions.size());
  before_.resize(program_.functions.size());
  std::set<std::uint32_t> work;
  for (std::uint32_t f = 0; f < program_.functions.size(); ++f) {
    if (std::ranges::any_of(program_.functions[f].nodes,
                            [](const Node& node) { return node.op != Node::LockOp::kNone; })) {
      work.insert(f);
    }
  }
  // Each function a few times: effects only grow in `holds`, and a recursion that changes what
  // is surely released is cut off on the careful side.
  std::unordered_map<std::uint32_t, unsigned> visits;
  while (!work.empty()) {
    const std::uint32_t f = *work.begin();
    work.erase(work.begin());
    Effect effect = follow(f);
    if (++visits[f] > 8) {
      effect.releases.clear();
      effect.surely_holds.clear();
      // What was held stays so: otherwise the two of a recursion could take turns for ever.
      effect.holds.insert(effects_[f].holds.begin(), effects_[f].holds.end());
    }
    if (effect == effects_[f]) continue;
    effects_[f] = std::move(effect);
    work.insert(calls_.callers(f).begin(), calls_.callers(f).end());
  }
}

ProgramLocks::Effect ProgramLocks::follow(std::uint32_t f) {
  const Graph& graph = graphs_[f];
  std::vector<LockSet>& before = before_[f];
  before.assign(graph.size(), {});
  // Released since the function began, and not taken again: on every path. And the reverse.
  std::vector<std::optional<LockSet>> gone(graph.size());
  std::vector<std::optional<LockSet>> sure(graph.size());
  if (graph.size() == 0) return {};
  gone[0].emplace();
  sure[0].emplace();
  Effect all;
  std::vector<NodeId> work = {0};
  std::vector<bool> seen(graph.size());
  while (!work.empty()) {
    const NodeId node = work.back();
    work.pop_back();
    seen[node] = true;
    const Effect effect = effect_of(f, node);
    LockSet held = before[node];
    for (const LockNumber lock : effect.releases) held.erase(lock);
    held.insert(effect.holds.begin(), effect.holds.end());
    LockSet released = *gone[node];
    released.insert(effect.releases.begin(), effect.releases.end());
    for (const LockNumber lock : effect.holds) released.erase(lock);
    LockSet surely = *sure[node];
    if (effect.may_release_any) surely.clear();
    for (const LockNumber lock : effect.may_release) surely.erase(lock);
    surely.insert(effect.surely_holds.begin(), effect.surely_holds.end());
    all.may_release.insert(effect.may_release.begin(), effect.may_release.end());
    all.may_release_any |= effect.may_release_any;
    for (const NodeId to : graph.next[node]) {
      const std::size_t size = before[to].size();
      before[to].insert(held.begin(), held.end());
      bool changed = !seen[to] || before[to].size() != size;
      if (!gone[to].has_value()) {
        gone[to] = released;
        sure[to] = surely;
      } else {
        changed |= keep_common(*gone[to], released);
        changed |= keep_common(*sure[to], surely);
      }
      if (changed) work.push_back(to);
    }
  }
  bool first = true;
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (program_.functions[f].nodes[node].kind != Node::Kind::kExit || !seen[node]) continue;
    for (const LockNumber lock : before[node]) {
      if (sure[node]->contains(lock) || !may_release(all, lock)) all.holds.insert(lock);
    }
    if (first) {
      all.releases = *gone[node];
      all.surely_holds = *sure[node];
    } else {
      keep_common(all.releases, *gone[node]);
      keep_common(all.surely_holds, *sure[node]);
    }
    first = false;
  }
  return all;
}

}  // namespace syndrome::enforce
