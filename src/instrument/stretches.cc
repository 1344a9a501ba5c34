#include "instrument/stretches.h"

#include <llvm/ADT/DenseMap.h>
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

/// Bits of a word.
constexpr std::uint64_t kSpots = 64;

/// What a value is that comes out of a loop.
[[nodiscard]] const llvm::Value* inside(const llvm::Value* value) {
  while (const auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) {
    const llvm::Value* same = phi->hasConstantValue();
    if (same == nullptr) break;
    value = same;
  }
  return value;
}

[[nodiscard]] bool is_simple(const Mark& mark) {
  if (mark.once() || mark.site() > 0xffff) return false;
  const Shape shape = mark.shape();
  return shape.bytes != 0 && shape.bytes <= 8 && llvm::isPowerOf2_32(shape.bytes) && !shape.crosses;
}

/// Each needs two registers, or places on the stack.
constexpr std::size_t kMostStretches = 8;

[[nodiscard]] llvm::MDNode* rarely(llvm::LLVMContext& context) {
  return llvm::MDBuilder(context).createBranchWeights(1, 1u << 10);
}

}  // namespace

void Stretches::lower(const llvm::SmallPtrSetImpl<const llvm::Loop*>& quiet,
                      llvm::SmallSetVector<llvm::AllocaInst*, 8>& slots) {
  llvm::MapVector<llvm::Loop*, std::vector<Stretch>> all;
  llvm::DenseMap<llvm::Loop*, std::vector<Mark>> others;
  for (llvm::Instruction& instruction : llvm::instructions(function_)) {
    const std::optional<Mark> mark = mark_of(instruction);
    llvm::Loop* outermost = loops_.getLoopFor(instruction.getParent());
    if (!mark.has_value() || !is_simple(*mark) || !quiet.contains(outermost)) continue;
    const std::optional<Walk> walk = walk_of(*mark, *outermost, scev_);
    while (outermost->getParentLoop() != nullptr && quiet.contains(outermost->getParentLoop())) {
      outermost = outermost->getParentLoop();
    }
    if (walk.has_value() && std::abs(walk->stride) == mark->shape().bytes) {
      all[outermost].push_back({*mark, *walk, outermost, nullptr, nullptr, nullptr});
    } else {
      others[outermost].push_back(*mark);
    }
  }
  for (auto& [outermost, stretches] : all) {
    std::vector<Spots> beside;
    for (const Mark& mark : others[outermost]) {
      const auto found = llvm::find_if(stretches, [&](const Stretch& stretch) {
        return inside(mark.pointer()) == stretch.mark.pointer() &&
               mark.shape().bytes == stretch.mark.shape().bytes;
      });
      if (found == stretches.end()) continue;
      beside.push_back({mark, found->walk, outermost, nullptr, nullptr, nullptr});
    }
    if (stretches.size() + beside.size() > kMostStretches) continue;
    llvm::simplifyLoop(outermost, &dominators_, &loops_, &scev_, nullptr, nullptr, false);
    // It may have become two, one in the other.
    const auto is_outside = [&](const auto& each) { return !outermost->contains(each.mark.call); };
    if (!outermost->isLoopSimplifyForm() || llvm::any_of(stretches, is_outside) ||
        llvm::any_of(beside, is_outside)) {
      continue;
    }
    const auto make = [&](auto& each, llvm::AllocaInst*& first, llvm::AllocaInst*& second) {
      begin(each);
      slots.insert(first);
      slots.insert(second);
      go_on(each);
      end(each);
      each.mark.call->eraseFromParent();
    };
    for (Stretch& stretch : stretches) make(stretch, stretch.first, stretch.next);
    for (Spots& spots : beside) make(spots, spots.first, spots.bits);
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
  llvm::Instruction* otherwise = nullptr;
  llvm::Instruction* then = unless_following(stretch.mark, elsewhere, otherwise);
  // In its place, and there is no stretch.
  llvm::IRBuilder<> single(otherwise);
  llvm::Constant* none = llvm::ConstantPointerNull::get(single.getPtrTy());
  single.CreateStore(none, stretch.first);
  single.CreateStore(none, stretch.next);
  llvm::IRBuilder<> another(then);
  another.SetCurrentDebugLocation(mark->getDebugLoc());
  llvm::Value* first = another.CreateLoad(another.getPtrTy(), stretch.first);
  another.CreateStore(pointer, stretch.first);
  record(another, stretch, first, next, true);
}

llvm::Instruction* Stretches::unless_following(const Mark& mark, llvm::Instruction* elsewhere,
                                               llvm::Instruction*& otherwise) {
  llvm::IRBuilder<> at(elsewhere);
  at.SetCurrentDebugLocation(mark.call->getDebugLoc());
  llvm::Constant* live = syndrome::instrument::follows(*function_.getParent());
  llvm::Instruction* then = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(
      at.CreateICmpNE(at.CreateLoad(at.getInt32Ty(), live), at.getInt32(0)), elsewhere, &then,
      &otherwise, nullptr, &updater_, &loops_);
  llvm::IRBuilder<> single(otherwise);
  single.SetCurrentDebugLocation(mark.call->getDebugLoc());
  probes_.loose_access(single, mark.pointer(), mark.site(), mark.shape());
  return then;
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

void Stretches::begin(Spots& spots) {
  llvm::IRBuilder<> top(&function_.getEntryBlock().front());
  spots.first = top.CreateAlloca(top.getPtrTy());
  spots.bits = top.CreateAlloca(top.getInt64Ty());
  const llvm::SmallPtrSet<const llvm::CallInst*, 1> none;
  spots.shape = run_shape(*function_.getParent(), {&spots.mark, 1}, {&spots.walk, 1}, none);
  llvm::IRBuilder<> before(spots.outermost->getLoopPreheader()->getTerminator());
  before.CreateStore(llvm::ConstantPointerNull::get(before.getPtrTy()), spots.first);
  before.CreateStore(before.getInt64(0), spots.bits);
}

void Stretches::go_on(const Spots& spots) {
  llvm::CallInst* mark = spots.mark.call;
  llvm::IRBuilder<> at(mark);
  at.SetCurrentDebugLocation(mark->getDebugLoc());
  llvm::Value* pointer = spots.mark.pointer();
  llvm::Value* first = at.CreateLoad(at.getPtrTy(), spots.first);
  llvm::Value* bits = at.CreateLoad(at.getInt64Ty(), spots.bits);
  llvm::Value* here = at.CreatePtrToInt(pointer, at.getInt64Ty());
  llvm::Value* there = at.CreatePtrToInt(first, at.getInt64Ty());
  const bool up = spots.walk.stride > 0;
  llvm::Value* distance = up ? at.CreateSub(here, there) : at.CreateSub(there, here);
  // How many accesses away: far too many also if it is not a whole number of them.
  llvm::Value* count = at.CreateIntrinsic(
      llvm::Intrinsic::fshr, {at.getInt64Ty()},
      {distance, distance, at.getInt64(llvm::Log2_32(spots.mark.shape().bytes))});
  llvm::Value* bit = at.CreateShl(at.getInt64(1), at.CreateAnd(count, at.getInt64(kSpots - 1)));
  at.CreateStore(at.CreateOr(bits, bit), spots.bits);
  llvm::Instruction* elsewhere =
      llvm::SplitBlockAndInsertIfThen(at.CreateICmpUGE(count, at.getInt64(kSpots)), mark, false,
                                      rarely(mark->getContext()), &updater_, &loops_);
  llvm::Instruction* otherwise = nullptr;
  llvm::Instruction* then = unless_following(spots.mark, elsewhere, otherwise);
  llvm::IRBuilder<> single(otherwise);
  single.CreateStore(llvm::ConstantPointerNull::get(single.getPtrTy()), spots.first);
  single.CreateStore(single.getInt64(0), spots.bits);
  llvm::IRBuilder<> another(then);
  another.SetCurrentDebugLocation(mark->getDebugLoc());
  another.CreateStore(pointer, spots.first);
  another.CreateStore(another.getInt64(1), spots.bits);
  record(another, spots, first, bits, true);
}

void Stretches::end(const Spots& spots) {
  llvm::SmallVector<llvm::BasicBlock*, 4> exits;
  spots.outermost->getUniqueExitBlocks(exits);
  for (llvm::BasicBlock* exit : exits) {
    llvm::IRBuilder<> at(&*exit->getFirstInsertionPt());
    at.SetCurrentDebugLocation(spots.mark.call->getDebugLoc());
    llvm::Value* first = at.CreateLoad(at.getPtrTy(), spots.first);
    llvm::Value* bits = at.CreateLoad(at.getInt64Ty(), spots.bits);
    record(at, spots, first, bits, false);
  }
}

/// The spots that there are.
void Stretches::record(llvm::IRBuilder<>& at, const Spots& spots, llvm::Value* first,
                       llvm::Value* bits, bool in_loop) {
  const llvm::DebugLoc place = spots.mark.call->getDebugLoc();
  llvm::Instruction* some =
      llvm::SplitBlockAndInsertIfThen(at.CreateICmpNE(bits, at.getInt64(0)), &*at.GetInsertPoint(),
                                      false, nullptr, &updater_, &loops_);
  llvm::IRBuilder<> any(some);
  any.SetCurrentDebugLocation(place);
  llvm::Instruction *one = nullptr, *more = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(any.CreateICmpEQ(bits, any.getInt64(1)), some, &one, &more,
                                      nullptr, &updater_, &loops_);
  llvm::IRBuilder<> single(one);
  single.SetCurrentDebugLocation(place);
  probes_.loose_access(single, first, spots.mark.site(), spots.mark.shape());
  llvm::IRBuilder<> several(more);
  several.SetCurrentDebugLocation(place);
  probes_.spots(several, spots.shape, first, bits, in_loop);
}

}  // namespace syndrome::instrument
