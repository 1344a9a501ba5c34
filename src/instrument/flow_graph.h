// The control flow of a function as the question "what decides whether this happens" needs it:
// without exceptions, and without what ends in an assertion.

#pragma once

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>

#include <vector>

namespace syndrome::instrument {

class FlowGraph {
 public:
  explicit FlowGraph(const llvm::Function& function);

  [[nodiscard]] unsigned number(const llvm::BasicBlock* block) const { return numbers_.at(block); }
  [[nodiscard]] unsigned blocks() const { return static_cast<unsigned>(successors_.size()); }
  /// Whether it is up to the end of the block which way to go.
  [[nodiscard]] bool branches(unsigned block) const { return successors_[block].size() > 1; }
  /// The blocks whose execution the end of this one decides about, directly or through another such
  /// decision.
  [[nodiscard]] const llvm::BitVector& decided_by(unsigned block);
  /// Whether `to` can follow `from` within one round of every loop.
  [[nodiscard]] bool follows(unsigned from, unsigned to);

 private:
  void find_successors(const llvm::Function& function);
  void find_back_edges();
  void find_control();

  llvm::DenseMap<const llvm::BasicBlock*, unsigned> numbers_;
  std::vector<std::vector<unsigned>> successors_;
  std::vector<std::vector<unsigned>> forward_;  // without back edges
  std::vector<llvm::BitVector> direct_;         // by block: what depends on its branch
  std::vector<llvm::BitVector> decided_;        // closed; empty: not asked for yet
  std::vector<llvm::BitVector> reached_;        // likewise, along forward_
};

}  // namespace syndrome::instrument
