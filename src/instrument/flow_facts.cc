#include "instrument/flow_facts.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

namespace syndrome::instrument {
namespace {

bool is_allocation(const llvm::Value* value) {
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(value);
  const llvm::Function* const callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr) return false;
  const llvm::StringRef name = callee->getName();
  return name == "malloc" || name == "calloc" || name == "_Znwm" || name == "_Znam";
}

/// Functions of other libraries that are known not to write through their pointers anything that a
/// program computes with.
bool only_reads(llvm::StringRef name) {
  for (const llvm::StringRef prefix :
       {"printf", "fprintf", "puts", "strlen", "strcmp", "strncmp", "memcmp", "pthread_", "sem_",
        "_ZNSolsE", "_ZStls", "_ZNSt5mutex", "usleep", "sched_yield", "atoi", "strto"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

/// The pointers into the same memory as this one.
void pointers_of(const llvm::Value* base, llvm::SmallVectorImpl<const llvm::Value*>& found) {
  found.push_back(base);
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const llvm::User* user : found[i]->users()) {
      if (llvm::isa<llvm::GEPOperator>(user) || llvm::isa<llvm::BitCastOperator>(user)) {
        if (user->getOperand(0) == found[i]) found.push_back(user);
      }
    }
  }
}

}  // namespace

const llvm::Value* base_of(const llvm::Value* pointer) {
  for (int i = 0; i < 32; ++i) {
    if (const auto* const gep = llvm::dyn_cast<llvm::GEPOperator>(pointer)) {
      pointer = gep->getPointerOperand();
    } else if (const auto* const cast = llvm::dyn_cast<llvm::BitCastOperator>(pointer)) {
      pointer = cast->getOperand(0);
    } else {
      break;
    }
  }
  return pointer;
}

bool is_private(const llvm::Value* base) {
  if (!llvm::isa<llvm::AllocaInst>(base) && !is_allocation(base)) return false;
  llvm::SmallVector<const llvm::Value*, 8> pointers;
  pointers_of(base, pointers);
  for (const llvm::Value* pointer : pointers) {
    for (const llvm::User* user : pointer->users()) {
      const auto* const store = llvm::dyn_cast<llvm::StoreInst>(user);
      if (store != nullptr && store->getValueOperand() == pointer) return false;
      const auto* const call = llvm::dyn_cast<llvm::CallBase>(user);
      const llvm::Function* const callee = call == nullptr ? nullptr : call->getCalledFunction();
      if (callee != nullptr && callee->getName() == "pthread_create") return false;
    }
  }
  return true;
}

bool only_manages(const llvm::CallBase& call) {
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee == nullptr) return false;
  if (callee->isIntrinsic()) return !llvm::isa<llvm::MemIntrinsic>(call);
  const llvm::StringRef name = callee->getName();
  for (const llvm::StringRef part : {"mutex", "lock_guard", "unique_lock", "scoped_lock",
                                     "shared_lock", "__syndrome_"}) {
    if (name.contains(part)) return true;
  }
  return name.ends_with("D2Ev") || name.ends_with("D1Ev");
}

bool FlowFacts::may_write(const llvm::CallBase& call, unsigned argument) {
  if (const auto* const transfer = llvm::dyn_cast<llvm::MemIntrinsic>(&call)) {
    return argument == 0 && transfer != nullptr;
  }
  if (call.onlyReadsMemory() || call.onlyReadsMemory(argument) || only_manages(call)) return false;
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee == nullptr) return true;
  if (callee->isDeclaration()) return !only_reads(callee->getName());
  return argument >= callee->arg_size() || may_write(*callee->getArg(argument));
}

bool FlowFacts::may_write(const llvm::Argument& argument) {
  const auto [known, is_new] = writes_.try_emplace(&argument, false);  // what recursion finds
  if (!is_new) return known->second;
  llvm::SmallVector<const llvm::Value*, 8> pointers;
  pointers_of(&argument, pointers);
  bool writes = false;
  for (const llvm::Value* pointer : pointers) {
    for (const llvm::User* user : pointer->users()) {
      if (const auto* const store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        writes |= store->getPointerOperand() == pointer;
      } else if (llvm::isa<llvm::AtomicRMWInst>(user) || llvm::isa<llvm::AtomicCmpXchgInst>(user)) {
        writes = true;
      } else if (const auto* const call = llvm::dyn_cast<llvm::CallBase>(user)) {
        for (unsigned i = 0; i < call->arg_size() && !writes; ++i) {
          if (call->getArgOperand(i) == pointer) writes = may_write(*call, i);
        }
      }
      if (writes) break;
    }
    if (writes) break;
  }
  writes_[&argument] = writes;
  return writes;
}

FlowFacts::Object FlowFacts::object_of(const llvm::Argument& argument) {
  if (!argument.getType()->isPointerTy() || argument.hasStructRetAttr()) return {};
  const auto [known, is_new] = objects_.try_emplace(&argument);
  if (!is_new) return known->second;
  Object object;
  object.bytes = argument.getDereferenceableBytes();
  llvm::SmallVector<const llvm::Value*, 8> pointers;
  pointers_of(&argument, pointers);
  for (const llvm::User* user : argument.users()) {
    const auto* const gep = llvm::dyn_cast<llvm::GEPOperator>(user);
    if (gep == nullptr || gep->getPointerOperand() != &argument) continue;
    const auto* const type = llvm::dyn_cast<llvm::StructType>(gep->getSourceElementType());
    if (type == nullptr || !type->isSized()) continue;
    object.bytes =
        std::max<std::uint64_t>(object.bytes, layout_.getTypeAllocSize(const_cast<llvm::StructType*>(type)).getFixedValue());
    if (object.type.empty() && type->hasName()) {
      llvm::StringRef name = type->getName();
      if (!name.consume_front("class.")) (void)name.consume_front("struct.");
      object.type = name.str();
    }
  }
  if (object.bytes <= 1) {
    for (const llvm::User* user : argument.users()) {
      const auto* const call = llvm::dyn_cast<llvm::CallBase>(user);
      const llvm::Function* const callee = call == nullptr ? nullptr : call->getCalledFunction();
      if (callee == nullptr || callee->isDeclaration()) continue;
      for (unsigned i = 0; i < call->arg_size() && i < callee->arg_size(); ++i) {
        if (call->getArgOperand(i) != &argument) continue;
        Object inner = object_of(*callee->getArg(i));
        if (inner.bytes > object.bytes) object = std::move(inner);
      }
    }
  }
  objects_[&argument] = object;
  return object;
}

}  // namespace syndrome::instrument
