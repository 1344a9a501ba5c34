#include "instrument/marks.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "event/wire.h"
#include "instrument/abi.h"

namespace syndrome::instrument {

std::optional<Mark> mark_of(llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr ||
      (callee->getName() != abi::kMark && callee->getName() != abi::kMarkOnce) ||
      !llvm::isa<llvm::ConstantInt>(call->getArgOperand(1)) ||
      !llvm::isa<llvm::ConstantInt, llvm::AllocaInst>(call->getArgOperand(2)) ||
      !llvm::isa<llvm::Constant>(call->getArgOperand(3))) {
    return std::nullopt;
  }
  return Mark{call};
}

std::optional<Walk> walk_of(const Mark& mark, const llvm::Loop& loop, llvm::ScalarEvolution& scev) {
  const llvm::SCEV* address = scev.getSCEV(mark.pointer());
  if (scev.isLoopInvariant(address, &loop)) return Walk{address, 0};
  const auto* moving = llvm::dyn_cast<llvm::SCEVAddRecExpr>(address);
  if (moving == nullptr || moving->getLoop() != &loop || !moving->isAffine()) return {};
  const auto* stride = llvm::dyn_cast<llvm::SCEVConstant>(moving->getStepRecurrence(scev));
  if (stride == nullptr || stride->getAPInt().getSignificantBits() > 64 ||
      !wire::is_stride(stride->getAPInt().getSExtValue())) {
    return {};
  }
  return Walk{moving->getStart(), stride->getAPInt().getSExtValue()};
}

llvm::GlobalVariable* run_shape(llvm::Module& module, std::span<const Mark> marks,
                                std::span<const Walk> walks,
                                const llvm::SmallPtrSetImpl<const llvm::CallInst*>& covered) {
  llvm::IRBuilder<> at(module.getContext());
  wire::Word strides[2] = {wire::operand(0), wire::operand(0)};
  wire::Word tops[wire::kMaxRunSites] = {};
  std::uint8_t shapes[wire::kMaxRunSites] = {};
  std::uint32_t flags = 0;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    strides[i / wire::kStridesInWord] |= wire::stride_bits(walks[i].stride, i);
    tops[i] = wire::access(0, marks[i].site());
    if (covered.contains(marks[i].call)) flags |= abi::kRunCovered << i;
    shapes[i] = static_cast<std::uint8_t>(marks[i].shape().number());
  }
  llvm::Constant* function = marks[0].function();
  if (llvm::all_of(marks, [&](const Mark& mark) { return mark.function() == function; })) {
    flags |= abi::kRunNamed;
  }
  llvm::Constant* shape = llvm::ConstantStruct::getAnon(
      {at.getInt32(static_cast<std::uint32_t>(marks.size())), at.getInt32(flags),
       llvm::ConstantDataArray::get(module.getContext(), llvm::ArrayRef<wire::Word>(strides)),
       llvm::ConstantDataArray::get(module.getContext(), llvm::ArrayRef<wire::Word>(tops)),
       llvm::ConstantDataArray::get(module.getContext(), llvm::ArrayRef<std::uint8_t>(shapes)),
       function});
  auto* global = new llvm::GlobalVariable(module, shape->getType(), true,
                                          llvm::GlobalValue::PrivateLinkage, shape, "syndrome.run");
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return global;
}

llvm::Constant* follows(llvm::Module& module) {
  return module.getOrInsertGlobal(abi::kFollows, llvm::Type::getInt32Ty(module.getContext()));
}

}  // namespace syndrome::instrument
