#include "instrument/probes.h"

#include <llvm/IR/InlineAsm.h>

#include "instrument/abi.h"

namespace syndrome::instrument {

Probes::Probes(llvm::Module& module) : module_(module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* word = llvm::Type::getInt64Ty(context);
  llvm::Type* half = llvm::Type::getInt32Ty(context);
  auto* type = llvm::StructType::get(context, {pointer, half, half});
  thread_ = module.getGlobalVariable(abi::kThread);
  if (thread_ == nullptr) {
    thread_ =
        new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                 abi::kThread, nullptr, llvm::GlobalValue::InitialExecTLSModel);
  }
  probe_ = llvm::InlineAsm::get(llvm::FunctionType::get(word, {pointer, word}, false), abi::kProbe,
                                abi::kProbeConstraints, /*hasSideEffects=*/true);
}

// The address of the window. The plain form lets the code generator use %fs-relative addresses in
// each probe; the intrinsic keeps it from reusing the address where the thread may be another one.
llvm::Value* Probes::window(llvm::IRBuilder<>& at, bool migrates) {
  return migrates ? static_cast<llvm::Value*>(at.CreateThreadLocalAddress(thread_)) : thread_;
}

llvm::CallInst* Probes::word(llvm::IRBuilder<>& at, llvm::Value* word, bool migrates) {
  llvm::CallInst* call = at.CreateCall(probe_, {window(at, migrates), word});
  call->addParamAttr(
      0, llvm::Attribute::get(module_.getContext(), llvm::Attribute::ElementType, at.getPtrTy()));
  call->setDoesNotThrow();
  return call;
}

llvm::CallInst* Probes::mark(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site,
                             bool writes, llvm::Value* done) {
  llvm::CallInst* call =
      done == nullptr
          ? runtime(at, abi::kMark, at.getVoidTy(),
                    {pointer, at.getInt64(site), at.getInt32(writes ? 1 : 0)})
          : runtime(at, abi::kMarkOnce, at.getVoidTy(), {pointer, at.getInt64(site), done});
  // What lets the optimizer work on the loop as if the mark were not there.
  call->addParamAttr(0, llvm::Attribute::ReadNone);
  call->addParamAttr(0, llvm::Attribute::NoCapture);
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

void Probes::loose_access(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site) {
  const auto loosen = [](llvm::CallInst* call) {
    call->setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
    call->addFnAttr(llvm::Attribute::WillReturn);
  };
  if (site > 0xffff) {
    loosen(word(at, at.getInt64(wire::control(wire::Control::kWide, 0, site >> 16)), false));
  }
  llvm::Value* address = at.CreatePtrToInt(pointer, at.getInt64Ty());
  loosen(word(at, at.CreateOr(address, at.getInt64(wire::Word{site & 0xffff} << wire::kTopShift)),
              false));
}

void Probes::access(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site,
                    bool migrates) {
  if (site > 0xffff) {
    word(at, at.getInt64(wire::control(wire::Control::kWide, 0, site >> 16)), migrates);
  }
  // Addresses of user space end below 2^47: nothing has to be masked.
  llvm::Value* address = at.CreatePtrToInt(pointer, at.getInt64Ty());
  word(at, at.CreateOr(address, at.getInt64(wire::Word{site & 0xffff} << wire::kTopShift)),
       migrates);
}

void Probes::control(llvm::IRBuilder<>& at, wire::Control kind, llvm::Constant* address,
                     llvm::Value* top, bool migrates) {
  // The address is 16-aligned and below 2^47, so that adding is joining.
  llvm::Value* value = at.CreateAdd(llvm::ConstantExpr::getPtrToInt(address, at.getInt64Ty()),
                                    at.getInt64(wire::control(kind, 0, 0)));
  if (top != nullptr) {
    value = at.CreateAdd(value, at.CreateShl(at.CreateZExt(top, at.getInt64Ty()), wire::kTopShift));
  }
  word(at, value, migrates);
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
