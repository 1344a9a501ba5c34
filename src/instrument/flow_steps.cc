#include "instrument/flow_steps.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace syndrome::instrument {
namespace {

enum class AtomicCall : std::uint8_t { kNone, kLoad, kStore, kUpdate };

/// A member function of std::atomic that was not inlined, by its linkage name.
AtomicCall atomic_call(const llvm::CallBase& call) {
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee == nullptr || call.arg_empty()) return AtomicCall::kNone;
  const llvm::StringRef name = callee->getName();
  if (!name.contains("St6atomicI") && !name.contains("St13__atomic_baseI")) {
    return AtomicCall::kNone;
  }
  if (name.contains("E4loadE") || name.contains("Ecv")) return AtomicCall::kLoad;
  if (name.contains("E5storeE") || name.contains("EaSE")) return AtomicCall::kStore;
  for (const char* update : {"E9fetch_addE", "E9fetch_subE", "E8fetch_orE", "E9fetch_andE",
                             "E9fetch_xorE", "EppE", "EmmE", "EpLE", "EmIE"}) {
    if (name.contains(update)) return AtomicCall::kUpdate;
  }
  return AtomicCall::kNone;
}

}  // namespace

StepFacts facts_of(llvm::ArrayRef<const llvm::Instruction*> step) {
  StepFacts facts;
  bool loads = false;
  bool stores = false;
  bool constants = true;
  bool updates = false;
  bool known = true;
  const auto at = [&](const llvm::Value* pointer) {
    const llvm::DataLayout& layout = step.front()->getModule()->getDataLayout();
    std::int64_t offset = 0;
    const llvm::Value* const base = llvm::GetPointerBaseWithConstantOffset(pointer, offset, layout);
    if (facts.base != nullptr && (facts.base != base || facts.offset != offset)) known = false;
    facts.base = base;
    facts.offset = offset;
  };
  for (const llvm::Instruction* instruction : step) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
      loads = true;
      at(load->getPointerOperand());
    } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
      stores = true;
      constants = constants && llvm::isa<llvm::ConstantData>(store->getValueOperand());
      at(store->getPointerOperand());
    } else if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(instruction)) {
      updates = true;
      known = known && update->use_empty();
      at(update->getPointerOperand());
    } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(instruction)) {
      const AtomicCall kind = atomic_call(*call);
      loads = loads || kind == AtomicCall::kLoad;
      stores = stores || kind == AtomicCall::kStore;
      updates = updates || kind == AtomicCall::kUpdate;
      if (kind == AtomicCall::kNone || (kind == AtomicCall::kUpdate && !call->use_empty())) {
        known = false;
      }
      for (unsigned i = 1; i < call->arg_size(); ++i) {
        constants = constants && llvm::isa<llvm::ConstantData>(call->getArgOperand(i));
      }
      if (!call->arg_empty() && call->getArgOperand(0)->getType()->isPointerTy()) {
        at(call->getArgOperand(0));
      }
    } else {
      known = false;
    }
  }
  if (!known) facts.base = nullptr;
  facts.reads = known && loads && !stores && !updates;
  facts.sets_constant = known && stores && constants && !loads && !updates;
  facts.updates_unseen = known && updates && !loads && !stores;
  return facts;
}

bool is_compared_with_written(llvm::ArrayRef<const llvm::Instruction*> first,
                              llvm::ArrayRef<const llvm::Instruction*> second) {
  const auto is_written = [&](const llvm::Value* value) {
    return llvm::any_of(second, [&](const llvm::Instruction* instruction) {
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
        return store->getValueOperand() == value;
      }
      const auto* const call = llvm::dyn_cast<llvm::CallBase>(instruction);
      return call != nullptr && atomic_call(*call) == AtomicCall::kStore && call->arg_size() > 1 &&
             call->getArgOperand(1) == value;
    });
  };
  bool compared = false;
  for (const llvm::Instruction* read : first) {
    for (const llvm::User* user : read->users()) {
      const auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(user);
      if (compare == nullptr || !compare->isEquality()) return false;
      const bool left = compare->getOperand(0) == read;
      if (!is_written(compare->getOperand(left ? 1 : 0))) return false;
      compared = true;
    }
  }
  return compared;
}

bool keeps_bits(llvm::ArrayRef<const llvm::Instruction*> first,
                llvm::ArrayRef<const llvm::Instruction*> second) {
  if (first.size() != 1 || second.size() != 1 || !first.front()->hasOneUse()) return false;
  const llvm::Instruction* const read = first.front();
  const auto* const store = llvm::dyn_cast<llvm::StoreInst>(second.front());
  const auto* const clear = llvm::dyn_cast<llvm::BinaryOperator>(*read->user_begin());
  if (store == nullptr || clear == nullptr || clear->getOpcode() != llvm::Instruction::And ||
      !llvm::isa<llvm::ConstantInt>(clear->getOperand(1)) || !clear->hasOneUse()) {
    return false;
  }
  const auto* const set = llvm::dyn_cast<llvm::BinaryOperator>(*clear->user_begin());
  return set != nullptr && set->getOpcode() == llvm::Instruction::Or &&
         store->getValueOperand() == set;
}

bool looks_itself(llvm::StringRef name) {
  if (name.contains("compare_exchange")) return true;
  const auto member = [&](llvm::StringRef container) {
    const std::size_t at = name.find(container);
    if (at == llvm::StringRef::npos) return false;
    const llvm::StringRef rest = name.substr(at);
    for (const char* function :
         {"E7emplaceI", "E6insertE", "E6insertI", "E11try_emplaceI", "E12emplace_hintI", "EixE"}) {
      if (rest.contains(function)) return true;
    }
    return false;
  };
  return member("St3mapI") || member("St3setI") || member("St13unordered_mapI") ||
         member("St13unordered_setI");
}

bool looks_again(const llvm::Instruction& instruction) {
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    const llvm::Function* const callee = call->getCalledFunction();
    if (callee != nullptr && looks_itself(callee->getName())) return true;
  }
  for (const llvm::DILocation* at = instruction.getDebugLoc().get(); at != nullptr;
       at = at->getInlinedAt()) {
    if (at->getInlinedAt() == nullptr) break;  // the function itself
    const llvm::DISubprogram* const inlined = at->getScope()->getSubprogram();
    if (inlined != nullptr && looks_itself(inlined->getLinkageName())) return true;
  }
  return false;
}

}  // namespace syndrome::instrument
