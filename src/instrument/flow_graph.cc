#include "instrument/flow_graph.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>

namespace syndrome::instrument {

FlowGraph::FlowGraph(const llvm::Function& function) {
  for (const llvm::BasicBlock& block : function) {
    numbers_[&block] = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back(&block);
  }
  find_ways();
  find_back_edges();
  find_reach();
  find_decisions();
}

void FlowGraph::find_ways() {
  next_.resize(blocks_.size());
  llvm::BitVector doomed(static_cast<unsigned>(blocks_.size()));
  for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
    const llvm::Instruction* const end = blocks_[i]->getTerminator();
    if (llvm::isa<llvm::UnreachableInst>(end) || llvm::isa<llvm::ResumeInst>(end)) doomed.set(i);
    const auto add = [&](const llvm::BasicBlock* block) {
      const std::uint32_t to = numbers_.lookup(block);
      if (!llvm::is_contained(next_[i], to)) next_[i].push_back(to);
    };
    if (const auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(end)) {
      add(invoke->getNormalDest());
    } else {
      for (const llvm::BasicBlock* block : llvm::successors(blocks_[i])) add(block);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t i = static_cast<std::uint32_t>(blocks_.size()); i-- > 0;) {
      if (doomed.test(i) || next_[i].empty()) continue;
      if (!llvm::all_of(next_[i], [&](std::uint32_t to) { return doomed.test(to); })) continue;
      doomed.set(i);
      changed = true;
    }
  }
  for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
    if (!doomed.test(i))
      llvm::erase_if(next_[i], [&](std::uint32_t to) { return doomed.test(to); });
  }
}

void FlowGraph::find_back_edges() {
  const auto count = static_cast<unsigned>(blocks_.size());
  forward_.resize(count);
  loops_.resize(count);
  llvm::BitVector seen(count);
  llvm::BitVector open(count);
  std::vector<std::pair<std::uint32_t, std::size_t>> path;
  // Each block may be where a way begins: landing pads have none that leads to them here.
  for (std::uint32_t start = 0; start < count; ++start) {
    if (seen.test(start)) continue;
    seen.set(start);
    open.set(start);
    path.emplace_back(start, 0);
    while (!path.empty()) {
      const std::uint32_t at = path.back().first;
      if (path.back().second == next_[at].size()) {
        open.reset(at);
        order_.push_back(at);
        path.pop_back();
        continue;
      }
      const std::uint32_t to = next_[at][path.back().second++];
      if (open.test(to)) {
        loops_.set(to);
        continue;
      }
      forward_[at].push_back(to);
      if (seen.test(to)) continue;
      seen.set(to);
      open.set(to);
      path.emplace_back(to, 0);
    }
  }
}

void FlowGraph::find_reach() {
  const auto count = static_cast<unsigned>(blocks_.size());
  forward_reach_.assign(count, llvm::BitVector(count));
  for (const std::uint32_t at : order_) {
    for (const std::uint32_t to : forward_[at]) {
      forward_reach_[at].set(to);
      forward_reach_[at] |= forward_reach_[to];
    }
  }
  if (loops_.none()) {
    reach_ = forward_reach_;
    return;
  }
  reach_.assign(count, llvm::BitVector(count));
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t at : order_) {
      llvm::BitVector now = reach_[at];
      for (const std::uint32_t to : next_[at]) {
        now.set(to);
        now |= reach_[to];
      }
      if (now == reach_[at]) continue;
      reach_[at] = std::move(now);
      changed = true;
    }
  }
}

// Control dependence by post-dominators (Ferrante, Ottenstein and Warren), which are found by
// intersecting paths in a tree (Cooper, Harvey and Kennedy).
void FlowGraph::find_decisions() {
  const auto count = static_cast<std::uint32_t>(blocks_.size());
  const std::uint32_t end = count;
  constexpr std::uint32_t kNone = UINT32_MAX;
  // What never ends may end where it goes back.
  std::vector<std::vector<std::uint32_t>> next = next_;
  llvm::BitVector ends(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (next_[i].empty()) ends.set(i);
  }
  for (const std::uint32_t at : order_) {
    if (next_[at].empty() || reach_[at].anyCommon(ends)) continue;
    if (forward_[at].size() < next_[at].size()) next[at].push_back(end);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (next[i].empty()) next[i].push_back(end);
  }
  // Number on the way back from the end: of a block larger than of what comes behind it.
  std::vector<std::vector<std::uint32_t>> before(count + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const std::uint32_t to : next[i]) before[to].push_back(i);
  }
  std::vector<std::uint32_t> number(count + 1, kNone);
  std::vector<std::uint32_t> finished;
  {
    llvm::BitVector seen(count + 1);
    std::vector<std::pair<std::uint32_t, std::size_t>> path{{end, 0}};
    seen.set(end);
    while (!path.empty()) {
      const std::uint32_t at = path.back().first;
      if (path.back().second == before[at].size()) {
        finished.push_back(at);
        path.pop_back();
        continue;
      }
      const std::uint32_t to = before[at][path.back().second++];
      if (seen.test(to)) continue;
      seen.set(to);
      path.emplace_back(to, 0);
    }
  }
  std::reverse(finished.begin(), finished.end());
  for (std::uint32_t i = 0; i < finished.size(); ++i) number[finished[i]] = i;
  std::vector<std::uint32_t> parent(count + 1, kNone);
  parent[end] = end;
  const auto meet = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      while (number[a] > number[b]) a = parent[a];
      while (number[b] > number[a]) b = parent[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t at : finished) {
      if (at == end) continue;
      std::uint32_t now = kNone;
      for (const std::uint32_t to : next[at]) {
        if (number[to] == kNone || parent[to] == kNone) continue;
        now = now == kNone ? to : meet(now, to);
      }
      if (now == kNone || now == parent[at]) continue;
      parent[at] = now;
      changed = true;
    }
  }
  decided_.assign(count, llvm::BitVector(count));
  for (std::uint32_t at = 0; at < count; ++at) {
    if (next_[at].size() < 2 || parent[at] == kNone) continue;
    for (std::uint32_t to : next_[at]) {
      for (; to != end && to != parent[at] && parent[to] != kNone; to = parent[to]) {
        decided_[at].set(to);
      }
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t at : order_) {
      if (decided_[at].none()) continue;
      llvm::BitVector now = decided_[at];
      for (const unsigned to : decided_[at].set_bits()) {
        if (to != at) now |= decided_[to];
      }
      if (now == decided_[at]) continue;
      decided_[at] = std::move(now);
      changed = true;
    }
  }
}

bool FlowGraph::comes_before(const llvm::Instruction& a, const llvm::Instruction& b) const {
  if (a.getParent() == b.getParent()) return a.comesBefore(&b);
  return forward_reach_[block_of(*a.getParent())].test(block_of(*b.getParent()));
}

bool FlowGraph::reaches(const llvm::Instruction& a, const llvm::Instruction& b) const {
  if (a.getParent() == b.getParent() && a.comesBefore(&b)) return true;
  return reach_[block_of(*a.getParent())].test(block_of(*b.getParent()));
}

}  // namespace syndrome::instrument
