// The marks that twins.h has left in loops, and what runs.h and stretches.h have in common.

#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/MemoryLocation.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <optional>
#include <span>

#include "instrument/probes.h"

namespace syndrome::instrument {

/// A call that twins.h has left.
struct Mark {
  llvm::CallInst* call;
  [[nodiscard]] llvm::Value* pointer() const { return call->getArgOperand(0); }
  [[nodiscard]] std::uint32_t site() const {
    return static_cast<std::uint32_t>(
        llvm::cast<llvm::ConstantInt>(call->getArgOperand(1))->getZExtValue());
  }
  [[nodiscard]] bool once() const { return call->getArgOperand(2)->getType()->isPointerTy(); }
  [[nodiscard]] Shape shape() const {
    return once()
               ? Shape()
               : Shape::of(llvm::cast<llvm::ConstantInt>(call->getArgOperand(2))->getZExtValue());
  }
  /// The unit::Function whose site it is.
  [[nodiscard]] llvm::Constant* function() const {
    return llvm::cast<llvm::Constant>(call->getArgOperand(3));
  }
  [[nodiscard]] llvm::Value* done() const { return call->getArgOperand(2); }
  [[nodiscard]] llvm::MemoryLocation location() const {
    return llvm::MemoryLocation::getBeforeOrAfter(pointer(), call->getAAMetadata());
  }
  [[nodiscard]] bool writes() const { return shape().writes; }
};

[[nodiscard]] std::optional<Mark> mark_of(llvm::Instruction& instruction);

/// Where an access is in each round.
struct Walk {
  const llvm::SCEV* start;
  std::int64_t stride;
};
[[nodiscard]] std::optional<Walk> walk_of(const Mark& mark, const llvm::Loop& loop,
                                          llvm::ScalarEvolution& scev);

/// SyndromeRun (runtime/probes.h), a constant. `covered`: what reads again.
[[nodiscard]] llvm::GlobalVariable* run_shape(
    llvm::Module& module, std::span<const Mark> marks, std::span<const Walk> walks,
    const llvm::SmallPtrSetImpl<const llvm::CallInst*>& covered);

/// __syndrome_follows
[[nodiscard]] llvm::Constant* follows(llvm::Module& module);

}  // namespace syndrome::instrument
