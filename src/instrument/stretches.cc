#include "instrument/stretches.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "instrument/abi.h"

namespace syndrome::instrument {
namespace {

/// Each needs two registers, or places on the stack.
constexpr std::size_t kMostStretches = 8;

[[nodiscard]] llvm::MDNode* rarely(llvm::LLVMContext& context) {
  return llvm::MDBuilder(context).createBranchWeights(1, 1u << 10);
}

}  // namespace

void Stretches::lower(const llvm::SmallPtrSetImpl<const llvm::Loop*>& quiet,
                      llvm::SmallSetVector<llvm::AllocaInst*, 8>& slots) {
  llvm::MapVector<llvm::Loop*, std::vector<Stretch>> all;
  for (llvm::Instruction& instruction : llvm::instructions(function_)) {
    const std::optional<Mark> mark = mark_of(instruction);
    llvm::Loop* outermost = loops_.getLoopFor(instruction.getParent());
    if (!mark.has_value() || mark->once() || mark->site() > 0xffff || outermost == nullptr ||
        !quiet.contains(outermost)) {
      continue;
    }
    const Shape shape = mark->shape();
    if (shape.bytes == 0 || shape.bytes > 8 || !llvm::isPowerOf2_32(shape.bytes) || shape.crosses) {
      continue;
    }
    const std::optional<Walk> walk = walk_of(*mark, *outermost, scev_);
    if (!walk.has_value() || std::abs(walk->stride) != shape.bytes) continue;
    while (outermost->getParentLoop() != nullptr && quiet.contains(outermost->getParentLoop())) {
      outermost = outermost->getParentLoop();
    }
    all[outermost].push_back({*mark, *walk, outermost, nullptr, nullptr, nullptr});
  }
  for (auto& [outermost, stretches] : all) {
    if (stretches.size() > kMostStretches) continue;
    llvm::simplifyLoop(outermost, &dominators_, &loops_, &scev_, nullptr, nullptr, false);
    if (!outermost->isLoopSimplifyForm()) continue;
    for (Stretch& stretch : stretches) {
      begin(stretch);
      slots.insert(stretch.first);
      slots.insert(stretch.next);
      go_on(stretch);
      end(stretch);
      stretch.mark.call->eraseFromParent();
    }
    scev_.forgetLoop(outermost);
  }
}

llvm::Value* Stretches::behind(llvm::IRBuilder<>& at, const Stretch& stretch,
                               llvm::Value* pointer) {
  return at.CreatePtrAdd(pointer, at.getInt64(static_cast<std::uint64_t>(stretch.walk.stride)));
}

void Stretches::begin(Stretch& stretch) {
  llvm::IRBuilder<> top(&function_.getEntryBlock().front());
  stretch.first = top.CreateAlloca(top.getPtrTy());
  stretch.next = top.CreateAlloca(top.getPtrTy());
  const llvm::SmallPtrSet<const llvm::CallInst*, 1> none;
  stretch.shape = run_shape(*function_.getParent(), {&stretch.mark, 1}, {&stretch.walk, 1}, none);
  llvm::IRBuilder<> before(stretch.outermost->getLoopPreheader()->getTerminator());
  llvm::Constant* null = llvm::ConstantPointerNull::get(before.getPtrTy());
  before.CreateStore(null, stretch.first);
  before.CreateStore(null, stretch.next);
}

void Stretches::go_on(const Stretch& stretch) {
  llvm::CallInst* mark = stretch.mark.call;
  llvm::LLVMContext& context = mark->getContext();
  llvm::IRBuilder<> at(mark);
  llvm::Value* pointer = stretch.mark.pointer();
  llvm::Value* next = at.CreateLoad(at.getPtrTy(), stretch.next);
  at.CreateStore(behind(at, stretch, pointer), stretch.next);
  llvm::Instruction* elsewhere = llvm::SplitBlockAndInsertIfThen(
      at.CreateICmpNE(pointer, next), mark, false, rarely(context), &updater_, &loops_);
  llvm::IRBuilder<> other(elsewhere);
  other.SetCurrentDebugLocation(mark->getDebugLoc());
  llvm::Constant* live = syndrome::instrument::follows(*function_.getParent());
  llvm::Value* follows =
      other.CreateICmpNE(other.CreateLoad(other.getInt32Ty(), live), other.getInt32(0));
  llvm::Instruction *then = nullptr, *otherwise = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(follows, elsewhere, &then, &otherwise, nullptr, &updater_,
                                      &loops_);
  // In its place, and there is no stretch.
  llvm::IRBuilder<> single(otherwise);
  single.SetCurrentDebugLocation(mark->getDebugLoc());
  probes_.loose_access(single, pointer, stretch.mark.site(), stretch.mark.shape());
  llvm::Constant* none = llvm::ConstantPointerNull::get(single.getPtrTy());
  single.CreateStore(none, stretch.first);
  single.CreateStore(none, stretch.next);
  llvm::IRBuilder<> another(then);
  another.SetCurrentDebugLocation(mark->getDebugLoc());
  llvm::Value* first = another.CreateLoad(another.getPtrTy(), stretch.first);
  another.CreateStore(pointer, stretch.first);
  record(another, stretch, first, next, true);
}

void Stretches::end(const Stretch& stretch) {
  llvm::SmallVector<llvm::BasicBlock*, 4> exits;
  stretch.outermost->getUniqueExitBlocks(exits);
  for (llvm::BasicBlock* exit : exits) {
    llvm::IRBuilder<> at(&*exit->getFirstInsertionPt());
    at.SetCurrentDebugLocation(stretch.mark.call->getDebugLoc());
    llvm::Value* first = at.CreateLoad(at.getPtrTy(), stretch.first);
    llvm::Value* next = at.CreateLoad(at.getPtrTy(), stretch.next);
    record(at, stretch, first, next, false);
  }
}

/// What the stretch has, if there is one.
void Stretches::record(llvm::IRBuilder<>& at, const Stretch& stretch, llvm::Value* first,
                       llvm::Value* next, bool in_loop) {
  const llvm::DebugLoc place = stretch.mark.call->getDebugLoc();
  llvm::Instruction* some = llvm::SplitBlockAndInsertIfThen(
      at.CreateIsNotNull(first), &*at.GetInsertPoint(), false, nullptr, &updater_, &loops_);
  llvm::IRBuilder<> any(some);
  any.SetCurrentDebugLocation(place);
  llvm::Instruction *one = nullptr, *more = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(any.CreateICmpEQ(behind(any, stretch, first), next), some,
                                      &one, &more, nullptr, &updater_, &loops_);
  llvm::IRBuilder<> single(one);
  single.SetCurrentDebugLocation(place);
  probes_.loose_access(single, first, stretch.mark.site(), stretch.mark.shape());
  llvm::IRBuilder<> several(more);
  several.SetCurrentDebugLocation(place);
  probes_.stretch(several, stretch.shape, first, next, in_loop);
}

}  // namespace syndrome::instrument
