#include "instrument/probes.h"

#include <llvm/IR/InlineAsm.h>

#include "event/filter.h"
#include "instrument/abi.h"

namespace syndrome::instrument {

Probes::Probes(llvm::Module& module) : module_(module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* word = llvm::Type::getInt64Ty(context);
  llvm::Type* half = llvm::Type::getInt32Ty(context);
  auto* type = llvm::StructType::get(context, {pointer, half, half, pointer});
  thread_ = module.getGlobalVariable(abi::kThread);
  if (thread_ == nullptr) {
    thread_ =
        new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                 abi::kThread, nullptr, llvm::GlobalValue::InitialExecTLSModel);
  }
  probe_ = llvm::InlineAsm::get(llvm::FunctionType::get(word, {pointer, word}, false), abi::kProbe,
                                abi::kProbeConstraints, /*hasSideEffects=*/true);
  filtered_ = llvm::InlineAsm::get(
      llvm::FunctionType::get(llvm::StructType::get(context, {word, word}),
                              {pointer, pointer, word, word, word}, false),
      abi::kFilteredProbe, abi::kFilteredProbeConstraints, /*hasSideEffects=*/true);
  wide_ =
      llvm::InlineAsm::get(llvm::FunctionType::get(word, {pointer, pointer, word, word}, false),
                           abi::kWideProbe, abi::kWideProbeConstraints, /*hasSideEffects=*/true);
  exit_ =
      llvm::InlineAsm::get(llvm::FunctionType::get(llvm::StructType::get(context, {word, word}),
                                                   {pointer, pointer, word, pointer}, false),
                           abi::kExitProbe, abi::kExitProbeConstraints, /*hasSideEffects=*/true);
  block_ = llvm::InlineAsm::get(llvm::FunctionType::get(word, {pointer, word, pointer}, false),
                                abi::kBlockProbe, abi::kBlockProbeConstraints,
                                /*hasSideEffects=*/true);
  gap_ = llvm::InlineAsm::get(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, pointer}, false),
      abi::kGapProbe, abi::kGapProbeConstraints, /*hasSideEffects=*/true);
  far_ = llvm::InlineAsm::get(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, word}, false),
      abi::kFarProbe, abi::kGapProbeConstraints, /*hasSideEffects=*/true);
}

// The address of the window. The plain form lets the code generator use %fs-relative addresses in
// each probe; the intrinsic keeps it from reusing the address where the thread may be another one.
llvm::Value* Probes::window(llvm::IRBuilder<>& at, bool migrates) {
  return migrates ? static_cast<llvm::Value*>(at.CreateThreadLocalAddress(thread_)) : thread_;
}

// Says what lies in memory that an asm is given the address of.
llvm::Attribute Probes::element(llvm::Type* type) const {
  return llvm::Attribute::get(module_.getContext(), llvm::Attribute::ElementType, type);
}

llvm::CallInst* Probes::word(llvm::IRBuilder<>& at, llvm::Value* word, bool migrates) {
  llvm::CallInst* call = at.CreateCall(probe_, {window(at, migrates), word});
  call->addParamAttr(0, element(at.getPtrTy()));
  call->setDoesNotThrow();
  return call;
}

// The filter knows accesses that lie in one granule of 8 bytes, and of others that it does not.
llvm::CallInst* Probes::filtered(llvm::IRBuilder<>& at, llvm::Value* address, llvm::Value* word,
                                 Shape shape) {
  const std::uint64_t bytes = (std::uint64_t{1} << shape.bytes) - 1;
  llvm::Value* needs = nullptr;
  if (shape.bytes == 8 && !shape.crosses) {
    needs = at.getInt64(filter::needs(bytes, shape.writes));
  } else {
    const std::uint64_t keys = filter::needs(0, shape.writes);
    llvm::Value* within = at.CreateAnd(address, at.getInt64(7));
    llvm::Value* those =
        at.CreateShl(at.getInt64(filter::needs(bytes, shape.writes) & ~keys), within);
    needs = at.CreateOr(those, at.getInt64(keys));
    if (shape.crosses) {
      llvm::Value* outside = at.CreateICmpUGT(within, at.getInt64(8 - shape.bytes));
      needs = at.CreateSelect(outside, at.getInt64(filter::kNever), needs);
    }
  }
  llvm::CallInst* call = at.CreateCall(filtered_, {thread_, filter(at), address, word, needs});
  call->addParamAttr(0, element(at.getPtrTy()));
  call->addParamAttr(1, element(at.getPtrTy()));
  call->setDoesNotThrow();
  return call;
}

llvm::Value* Probes::filter(llvm::IRBuilder<>& at) {
  return at.CreateConstGEP1_64(at.getInt8Ty(), thread_, abi::kFilterOffset);
}

// Several granules, or an odd number of bytes.
llvm::CallInst* Probes::wide(llvm::IRBuilder<>& at, llvm::Value* word, Shape shape) {
  llvm::CallInst* call = at.CreateCall(
      wide_, {thread_, filter(at), word, at.getInt64(wire::wide(shape.bytes, shape.writes))});
  call->addParamAttr(0, element(at.getPtrTy()));
  call->addParamAttr(1, element(at.getPtrTy()));
  call->setDoesNotThrow();
  return call;
}

llvm::CallInst* Probes::mark(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site,
                             Shape shape, llvm::Value* done, llvm::Constant* function) {
  llvm::CallInst* call =
      done == nullptr ? runtime(at, abi::kMark, at.getVoidTy(),
                                {pointer, at.getInt64(site), at.getInt32(shape.number()), function})
                      : runtime(at, abi::kMarkOnce, at.getVoidTy(),
                                {pointer, at.getInt64(site), done, function});
  // What lets the optimizer work on the loop as if the mark were not there.
  for (const unsigned pointer_at : {0u, 3u}) {
    call->addParamAttr(pointer_at, llvm::Attribute::ReadNone);
    call->addParamAttr(pointer_at, llvm::Attribute::NoCapture);
  }
  llvm::MemoryEffects effects = llvm::MemoryEffects::inaccessibleMemOnly();
  if (done != nullptr) {
    call->addParamAttr(2, llvm::Attribute::NoCapture);
    effects |= llvm::MemoryEffects::argMemOnly();
  }
  call->setMemoryEffects(effects);
  call->addFnAttr(llvm::Attribute::WillReturn);
  call->addFnAttr(llvm::Attribute::NoSync);
  call->addFnAttr(llvm::Attribute::NoFree);
  call->addFnAttr(llvm::Attribute::NoCallback);
  call->addFnAttr(llvm::Attribute::NoMerge);
  return call;
}

void Probes::loose_access(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site,
                          Shape shape) {
  const auto loosen = [](llvm::CallInst* call) {
    call->setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
    call->addFnAttr(llvm::Attribute::WillReturn);
  };
  if (site > 0xffff) {
    loosen(word(at, at.getInt64(wire::control(wire::Control::kWide, 0, site >> 16)), false));
  }
  loosen(access_word(at, pointer, site, shape, false));
}

void Probes::stretch(llvm::IRBuilder<>& at, llvm::Constant* shape, llvm::Value* first,
                     llvm::Value* next, bool in_loop) {
  llvm::CallInst* call = in_loop ? at.CreateCall(gap_, {shape, first, next})
                                 : runtime(at, abi::kStretch, at.getVoidTy(), {shape, first, next});
  call->setDoesNotThrow();
  call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  call->addFnAttr(llvm::Attribute::WillReturn);
}

void Probes::spots(llvm::IRBuilder<>& at, llvm::Constant* shape, llvm::Value* first,
                   llvm::Value* bits, bool in_loop) {
  llvm::CallInst* call = in_loop ? at.CreateCall(far_, {shape, first, bits})
                                 : runtime(at, abi::kSpots, at.getVoidTy(), {shape, first, bits});
  call->setDoesNotThrow();
  call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  call->addFnAttr(llvm::Attribute::WillReturn);
}

void Probes::access(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site, Shape shape,
                    bool migrates) {
  if (site > 0xffff) {
    word(at, at.getInt64(wire::control(wire::Control::kWide, 0, site >> 16)), migrates);
  }
  access_word(at, pointer, site, shape, migrates);
}

llvm::CallInst* Probes::access_word(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site,
                                    Shape shape, bool migrates) {
  // Addresses of user space end below 2^47: nothing has to be masked.
  llvm::Value* address = at.CreatePtrToInt(pointer, at.getInt64Ty());
  llvm::Value* value =
      at.CreateOr(address, at.getInt64(wire::Word{site & 0xffff} << wire::kTopShift));
  // A word that says something of the next one must not stay alone.
  if (site > 0xffff || migrates || shape.bytes == 0) return word(at, value, migrates);
  const bool simple = shape.bytes <= 8 && llvm::isPowerOf2_32(shape.bytes);
  return simple ? filtered(at, address, value, shape) : wide(at, value, shape);
}

void Probes::control(llvm::IRBuilder<>& at, wire::Control kind, llvm::Constant* address,
                     llvm::Value* top, bool migrates) {
  // The address is 16-aligned and below 2^47, so that adding is joining.
  llvm::Value* value = at.CreateAdd(llvm::ConstantExpr::getPtrToInt(address, at.getInt64Ty()),
                                    at.getInt64(wire::control(kind, 0, 0)));
  if (top != nullptr) {
    value = at.CreateAdd(value, at.CreateShl(at.CreateZExt(top, at.getInt64Ty()), wire::kTopShift));
  }
  if (kind == wire::Control::kLeaf || migrates) {
    word(at, value, migrates);
    return;
  }
  llvm::CallInst* call = at.CreateCall(block_, {thread_, value, flags_of(at, address)});
  call->addParamAttr(0, element(at.getPtrTy()));
  call->addParamAttr(2, element(at.getInt8Ty()));
  call->setDoesNotThrow();
}

llvm::Constant* Probes::flags_of(llvm::IRBuilder<>& at, llvm::Constant* address) {
  return llvm::ConstantExpr::getGetElementPtr(at.getInt8Ty(), address,
                                              at.getInt64(abi::kFlagsOffset));
}

void Probes::exit(llvm::IRBuilder<>& at, llvm::Constant* address) {
  llvm::Value* value = at.CreateAdd(llvm::ConstantExpr::getPtrToInt(address, at.getInt64Ty()),
                                    at.getInt64(wire::control(wire::Control::kExit, 0, 0)));
  llvm::CallInst* call = at.CreateCall(exit_, {thread_, filter(at), value, flags_of(at, address)});
  call->addParamAttr(0, element(at.getPtrTy()));
  call->addParamAttr(1, element(at.getPtrTy()));
  call->addParamAttr(3, element(at.getInt8Ty()));
  call->setDoesNotThrow();
}

llvm::Value* Probes::load_call(llvm::IRBuilder<>& at, bool migrates) {
  return at.CreateLoad(at.getInt32Ty(), at.CreateConstGEP1_64(at.getInt8Ty(), window(at, migrates),
                                                              abi::kCallOffset));
}

void Probes::store_call(llvm::IRBuilder<>& at, llvm::Value* site, bool migrates) {
  at.CreateStore(site,
                 at.CreateConstGEP1_64(at.getInt8Ty(), window(at, migrates), abi::kCallOffset));
}

llvm::CallInst* Probes::runtime(llvm::IRBuilder<>& at, const char* name, llvm::Type* result,
                                llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::SmallVector<llvm::Type*, 5> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  const llvm::FunctionCallee callee =
      module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  llvm::CallInst* call = at.CreateCall(callee, arguments);
  call->setDoesNotThrow();
  return call;
}

}  // namespace syndrome::instrument
