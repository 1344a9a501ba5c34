// The control flow of a function as far as steps are connected by it: without what throws, and
// without ways that do not return (failed assertions).

#pragma once

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>

#include <cstdint>
#include <vector>

namespace syndrome::instrument {

class FlowGraph {
 public:
  /// Functions with more blocks have no flows: the tables are quadratic.
  static constexpr std::size_t kMostBlocks = 2048;

  explicit FlowGraph(const llvm::Function& function);

  [[nodiscard]] std::uint32_t block_of(const llvm::BasicBlock& block) const {
    return numbers_.lookup(&block);
  }
  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  /// Whether more than one way goes on from the block.
  [[nodiscard]] bool decides(std::uint32_t block) const { return next_[block].size() > 1; }
  /// The blocks of which `block`'s branch decides whether they run, directly or by other branches
  /// that it decides about.
  [[nodiscard]] const llvm::BitVector& decided_by(std::uint32_t block) const {
    return decided_[block];
  }
  /// Whether `b` may run behind `a`, in the same round of each loop.
  [[nodiscard]] bool comes_before(const llvm::Instruction& a, const llvm::Instruction& b) const;
  /// Whether `b` may run behind `a` at all.
  [[nodiscard]] bool reaches(const llvm::Instruction& a, const llvm::Instruction& b) const;
  /// Whether the block runs where nothing is thrown.
  [[nodiscard]] bool runs(std::uint32_t block) const { return block == 0 || reach_[0].test(block); }
  /// Whether one of the ways into the block is from a block behind it.
  [[nodiscard]] bool begins_loop(std::uint32_t block) const { return loops_.test(block); }

 private:
  void find_ways();
  void find_back_edges();
  void find_reach();
  void find_decisions();

  std::vector<const llvm::BasicBlock*> blocks_;
  llvm::DenseMap<const llvm::BasicBlock*, std::uint32_t> numbers_;
  std::vector<std::vector<std::uint32_t>> next_;
  std::vector<std::vector<std::uint32_t>> forward_;  // without the edges back
  std::vector<std::uint32_t> order_;                 // each behind those that it leads to
  llvm::BitVector loops_;
  std::vector<llvm::BitVector> forward_reach_;
  std::vector<llvm::BitVector> reach_;
  std::vector<llvm::BitVector> decided_;
};

}  // namespace syndrome::instrument
