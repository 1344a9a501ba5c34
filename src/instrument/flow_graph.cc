#include "instrument/flow_graph.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <utility>

namespace syndrome::instrument {

FlowGraph::FlowGraph(const llvm::Function& function) {
  for (const llvm::BasicBlock& block : function) {
    numbers_[&block] = static_cast<unsigned>(numbers_.size());
  }
  find_successors(function);
  find_back_edges();
  find_control();
  decided_.resize(blocks());
  reached_.resize(blocks());
}

void FlowGraph::find_successors(const llvm::Function& function) {
  successors_.resize(numbers_.size());
  std::vector<bool> doomed(numbers_.size());
  for (const llvm::BasicBlock& block : function) {
    std::vector<unsigned>& to = successors_[number(&block)];
    const llvm::Instruction* const end = block.getTerminator();
    doomed[number(&block)] = llvm::isa<llvm::UnreachableInst>(end);
    if (const auto* const invoke = llvm::dyn_cast<llvm::InvokeInst>(end)) {
      to.push_back(number(invoke->getNormalDest()));
      continue;
    }
    for (const llvm::BasicBlock* next : llvm::successors(&block)) {
      if (std::ranges::find(to, number(next)) == to.end()) to.push_back(number(next));
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned i = 0; i < blocks(); ++i) {
      const bool all = !successors_[i].empty() &&
                       std::ranges::all_of(successors_[i], [&](unsigned to) { return doomed[to]; });
      if (!doomed[i] && all) doomed[i] = changed = true;
    }
  }
  for (unsigned i = 0; i < blocks(); ++i) {
    if (doomed[i]) continue;
    std::erase_if(successors_[i], [&](unsigned to) { return doomed[to]; });
  }
}

void FlowGraph::find_back_edges() {
  enum class Mark : std::uint8_t { kNew, kOpen, kDone };
  forward_.resize(blocks());
  std::vector<Mark> marks(blocks(), Mark::kNew);
  std::vector<std::pair<unsigned, std::size_t>> path;
  for (unsigned root = 0; root < blocks(); ++root) {
    if (marks[root] != Mark::kNew) continue;
    path.emplace_back(root, 0);
    marks[root] = Mark::kOpen;
    while (!path.empty()) {
      auto& [block, next] = path.back();
      if (next == successors_[block].size()) {
        marks[block] = Mark::kDone;
        path.pop_back();
        continue;
      }
      const unsigned to = successors_[block][next++];
      if (marks[to] == Mark::kOpen) continue;
      forward_[block].push_back(to);
      if (marks[to] == Mark::kNew) {
        marks[to] = Mark::kOpen;
        path.emplace_back(to, 0);
      }
    }
  }
}

void FlowGraph::find_control() {
  // Post-dominators, as sets: functions that are too large for that are left out (flow.cc).
  const unsigned exit = blocks();
  std::vector<llvm::BitVector> after(blocks(), llvm::BitVector(blocks() + 1, true));
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned i = blocks(); i-- > 0;) {
      llvm::BitVector now(blocks() + 1, !successors_[i].empty());
      for (const unsigned to : successors_[i]) now &= after[to];
      if (successors_[i].empty()) now.set(exit);
      now.set(i);
      if (now == after[i]) continue;
      after[i] = std::move(now);
      changed = true;
    }
  }
  direct_.assign(blocks(), llvm::BitVector(blocks()));
  for (unsigned i = 0; i < blocks(); ++i) {
    if (!branches(i)) continue;
    for (const unsigned to : successors_[i]) {
      for (const unsigned block : after[to].set_bits()) {
        if (block != exit && (block == i || !after[i].test(block))) direct_[i].set(block);
      }
    }
  }
}

const llvm::BitVector& FlowGraph::decided_by(unsigned block) {
  llvm::BitVector& decided = decided_[block];
  if (!decided.empty()) return decided;
  decided = direct_[block];
  std::vector<unsigned> work;
  for (const unsigned each : decided.set_bits()) work.push_back(each);
  while (!work.empty()) {
    const unsigned each = work.back();
    work.pop_back();
    for (const unsigned further : direct_[each].set_bits()) {
      if (decided.test(further)) continue;
      decided.set(further);
      work.push_back(further);
    }
  }
  return decided;
}

bool FlowGraph::follows(unsigned from, unsigned to) {
  llvm::BitVector& reached = reached_[from];
  if (reached.empty()) {
    reached.resize(blocks());
    std::vector<unsigned> work = {from};
    while (!work.empty()) {
      const unsigned each = work.back();
      work.pop_back();
      for (const unsigned next : forward_[each]) {
        if (reached.test(next)) continue;
        reached.set(next);
        work.push_back(next);
      }
    }
  }
  return reached.test(to);
}

}  // namespace syndrome::instrument
