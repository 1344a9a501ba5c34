#include "instrument/twins.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "instrument/abi.h"

namespace syndrome::instrument {
namespace {

/// A larger loop spends its time in other ways than on one probe after another.
constexpr std::size_t kMostInstructions = 2000;

class TwinMaker {
 public:
  TwinMaker(llvm::Function& function, const Plan& plan, llvm::ValueToValueMapTy& twins)
      : function_(function), twins_(twins), dominators_(function), loops_(dominators_) {
    for (const PlannedAccess& access : plan.accesses) {
      if (access.instruction->isVolatile()) {
        noisy_.insert(access.instruction->getParent());
      } else if (access.once == nullptr) {
        repeating_.insert(access.instruction->getParent());
      }
    }
    for (const PlannedRange& range : plan.ranges) noisy_.insert(range.instruction->getParent());
    for (const PlannedLocal& local : plan.locals) {
      if (local.begin != nullptr) noisy_.insert(local.begin->getParent());
    }
  }

  void run() {
    // The list changes while loops are put into shape.
    const llvm::SmallVector<llvm::Loop*, 8> outermost(loops_.begin(), loops_.end());
    llvm::SmallVector<llvm::Loop*, 8> chosen;
    for (llvm::Loop* loop : outermost) choose(*loop, chosen);
    for (llvm::Loop* loop : chosen) make(*loop);
  }

 private:
  void choose(llvm::Loop& loop, llvm::SmallVectorImpl<llvm::Loop*>& chosen) {
    if (wants_twin(loop)) {
      chosen.push_back(&loop);
      return;
    }
    for (llvm::Loop* inner : loop) choose(*inner, chosen);
  }

  [[nodiscard]] bool wants_twin(const llvm::Loop& loop) const {
    std::size_t instructions = 0;
    bool repeats = false;
    for (const llvm::BasicBlock* block : loop.blocks()) {
      instructions += block->size();
      repeats |= repeating_.contains(block);
      if (noisy_.contains(block) || llvm::any_of(*block, ends_cover) ||
          llvm::any_of(*block, [](const llvm::Instruction& instruction) {
            return llvm::isa<llvm::AllocaInst>(instruction);
          })) {
        return false;
      }
    }
    return repeats && instructions <= kMostInstructions && loop.isSafeToClone() &&
           !loop.hasNoExitBlocks();
  }

  void make(llvm::Loop& loop) {
    llvm::simplifyLoop(&loop, &dominators_, &loops_, nullptr, nullptr, nullptr, false);
    llvm::BasicBlock* entry = loop.getLoopPreheader();
    if (entry == nullptr || !loop.hasDedicatedExits()) return;
    llvm::formLCSSARecursively(loop, dominators_, &loops_, nullptr);
    llvm::SmallVector<llvm::BasicBlock*, 16> copies;
    for (llvm::BasicBlock* block : loop.blocks()) {
      llvm::BasicBlock* copy = llvm::CloneBasicBlock(block, twins_, ".twin", &function_);
      twins_[block] = copy;
      copies.push_back(copy);
    }
    llvm::remapInstructionsInBlocks(copies, twins_);
    llvm::SmallVector<llvm::BasicBlock*, 4> exits;
    loop.getUniqueExitBlocks(exits);
    for (llvm::BasicBlock* exit : exits) {
      for (llvm::PHINode& phi : exit->phis()) {
        for (unsigned i = 0, end = phi.getNumIncomingValues(); i < end; ++i) {
          llvm::Value* value = phi.getIncomingValue(i);
          if (const auto found = twins_.find(value); found != twins_.end()) value = found->second;
          phi.addIncoming(value, llvm::cast<llvm::BasicBlock>(&*twins_[phi.getIncomingBlock(i)]));
        }
      }
    }
    llvm::Instruction* old = entry->getTerminator();
    llvm::IRBuilder<> at(old);
    llvm::Module& module = *function_.getParent();
    llvm::Constant* pinned = module.getOrInsertGlobal(abi::kPinned, at.getInt32Ty());
    llvm::Value* one_by_one =
        at.CreateICmpNE(at.CreateLoad(at.getInt32Ty(), pinned), at.getInt32(0));
    at.CreateCondBr(one_by_one, loop.getHeader(),
                    llvm::cast<llvm::BasicBlock>(&*twins_[loop.getHeader()]),
                    llvm::MDBuilder(module.getContext()).createBranchWeights(1, 1u << 20));
    old->eraseFromParent();
    // The blocks of loops that come later are not among these, and lie in the same place; but who
    // dominates what behind this loop has changed.
    dominators_.recalculate(function_);
  }

  llvm::Function& function_;
  llvm::ValueToValueMapTy& twins_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> noisy_;      // keep their loop from having a twin
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> repeating_;  // record something in each round
};

}  // namespace

void make_twins(llvm::Function& function, const Plan& plan, llvm::ValueToValueMapTy& twins) {
  if (function.hasFnAttribute(llvm::Attribute::OptimizeNone) || plan.accesses.empty() ||
      function.isPresplitCoroutine()) {
    return;
  }
  TwinMaker(function, plan, twins).run();
}

}  // namespace syndrome::instrument
