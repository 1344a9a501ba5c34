#include "instrument/escape.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

namespace syndrome::instrument {
namespace {

// Deeper chains of calls than this are rare, and each level is a level of recursion here.
constexpr unsigned kMostCalls = 32;

enum class Intrinsic { kHarmless, kPassesOn, kOther };

Intrinsic kind_of(const llvm::IntrinsicInst& call) {
  if (call.isLifetimeStartOrEnd() || call.isAssumeLikeIntrinsic()) {
    // ptr.annotation counts as assume-like, but its result is its argument.
    if (call.getType()->isPointerTy()) return Intrinsic::kPassesOn;
    return Intrinsic::kHarmless;
  }
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::vastart:
    case llvm::Intrinsic::vaend:
    case llvm::Intrinsic::vacopy:
    case llvm::Intrinsic::var_annotation:
    case llvm::Intrinsic::objectsize:
    case llvm::Intrinsic::prefetch:
    case llvm::Intrinsic::dbg_declare:
    case llvm::Intrinsic::dbg_value:
    case llvm::Intrinsic::memcpy:
    case llvm::Intrinsic::memcpy_inline:
    case llvm::Intrinsic::memmove:
    case llvm::Intrinsic::memset:
    case llvm::Intrinsic::memset_inline: return Intrinsic::kHarmless;
    case llvm::Intrinsic::ptr_annotation:
    case llvm::Intrinsic::launder_invariant_group:
    case llvm::Intrinsic::strip_invariant_group:
    case llvm::Intrinsic::threadlocal_address:
    case llvm::Intrinsic::ptrmask: return Intrinsic::kPassesOn;
    default: return Intrinsic::kOther;
  }
}

}  // namespace

bool EscapeAnalysis::unshared(const llvm::Value* pointer) {
  llvm::SmallPtrSet<const llvm::Value*, 8> seen;
  llvm::SmallVector<const llvm::Value*, 8> work{pointer};
  // What a pointer that comes out of a slot points to is what was put there.
  const auto follow_slot = [&](const llvm::Value* slot) {
    for (const llvm::User* user : slot->users()) {
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        work.push_back(store->getValueOperand());
      }
    }
  };
  bool any = false;
  while (!work.empty()) {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(work.pop_back_val(), objects, nullptr, 0);
    if (objects.empty()) return false;
    for (const llvm::Value* object : objects) {
      if (!seen.insert(object).second) continue;
      const auto* load = llvm::dyn_cast<llvm::LoadInst>(object);
      if (load != nullptr && !load->isVolatile() && is_slot(load->getPointerOperand())) {
        follow_slot(load->getPointerOperand());
        continue;
      }
      // A thread-local variable is reached through an intrinsic.
      if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(object);
          call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::threadlocal_address) {
        object = call->getArgOperand(0)->stripPointerCasts();
      }
      if (llvm::isa<llvm::ConstantPointerNull>(object)) continue;
      if (!stays(object)) return false;
      any = true;
    }
  }
  return any;
}

bool EscapeAnalysis::stays(const llvm::Value* object) {
  if (const auto known = stays_.find(object); known != stays_.end()) return known->second;
  bool answer = false;
  if (const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(object)) {
    answer = !fate_of(alloca, alloca->getFunction()).escapes;
  } else if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object)) {
    answer = argument->hasByValAttr() && !fate_of(argument, argument->getParent()).escapes;
  } else if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
    // Another translation unit may do what it likes with a variable that it can name.
    answer =
        global->isThreadLocal() && global->hasLocalLinkage() && !fate_of(global, nullptr).escapes;
  }
  stays_[object] = answer;
  return answer;
}

// A slot holds a pointer and is only loaded and stored as a whole: what is stored in it comes out
// of its loads and nowhere else.
bool EscapeAnalysis::is_slot(const llvm::Value* pointer) {
  const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(pointer);
  if (alloca == nullptr || !alloca->getAllocatedType()->isPointerTy() ||
      alloca->isArrayAllocation()) {
    return false;
  }
  if (const auto known = slots_.find(alloca); known != slots_.end()) return known->second;
  bool answer = true;
  for (const llvm::User* user : alloca->users()) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
      answer = load->getType()->isPointerTy();
    } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
      answer =
          store->getValueOperand() != alloca && store->getValueOperand()->getType()->isPointerTy();
    } else if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user)) {
      answer = call->isLifetimeStartOrEnd();
    } else {
      answer = false;
    }
    if (!answer) break;
  }
  slots_[alloca] = answer;
  return answer;
}

EscapeAnalysis::Fate EscapeAnalysis::fate_of_argument(const llvm::Argument* argument) {
  if (argument->hasNoCaptureAttr() || argument->hasByValAttr()) return {};
  const llvm::Function* function = argument->getParent();
  // Another definition of a function that the linker may pick is still the same source (ODR).
  if (function->isDeclaration() ||
      (function->isInterposable() && !function->hasLinkOnceLinkage()) ||
      function->isPresplitCoroutine() || depth_ >= kMostCalls) {
    return {.escapes = true, .returned = true};
  }
  if (const auto known = arguments_.find(argument); known != arguments_.end()) {
    return known->second;
  }
  // While its own fate is being found, a recursive call counts as an escape.
  arguments_[argument] = {.escapes = true, .returned = true};
  ++depth_;
  const Fate fate = fate_of(argument, function);
  --depth_;
  arguments_[argument] = fate;
  return fate;
}

EscapeAnalysis::Fate EscapeAnalysis::fate_of(const llvm::Value* root,
                                             const llvm::Function* function) {
  Fate fate;
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  llvm::SmallVector<const llvm::Value*, 16> work;
  const auto follow = [&](const llvm::Value* value) {
    if (seen.insert(value).second) work.push_back(value);
  };
  const auto visit_call = [&](const llvm::CallBase& call, const llvm::Use& use) {
    if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) {
      const Intrinsic kind = kind_of(*intrinsic);
      if (kind == Intrinsic::kPassesOn) follow(intrinsic);
      if (kind == Intrinsic::kOther) fate.escapes = true;
      return;
    }
    if (!call.isArgOperand(&use)) {
      if (!call.isCallee(&use)) fate.escapes = true;  // an operand bundle
      return;
    }
    const unsigned number = call.getArgOperandNo(&use);
    if (call.isByValArgument(number)) return;
    const llvm::Function* callee = call.getCalledFunction();
    if (callee == nullptr || number >= callee->arg_size()) {
      fate.escapes = fate.escapes || !call.paramHasAttr(number, llvm::Attribute::NoCapture);
      return;
    }
    if (call.paramHasAttr(number, llvm::Attribute::NoCapture)) return;
    const Fate inner = fate_of_argument(callee->getArg(number));
    if (inner.escapes) fate.escapes = true;
    if (inner.returned) {
      if (call.getType()->isPointerTy()) {
        follow(&call);
      } else {
        fate.escapes = true;
      }
    }
  };

  follow(root);
  while (!work.empty() && !fate.escapes) {
    const llvm::Value* value = work.pop_back_val();
    for (const llvm::Use& use : value->uses()) {
      const llvm::User* user = use.getUser();
      if (llvm::isa<llvm::LoadInst>(user) || llvm::isa<llvm::ICmpInst>(user)) continue;
      if (llvm::isa<llvm::GEPOperator>(user) || llvm::isa<llvm::BitCastOperator>(user) ||
          llvm::isa<llvm::AddrSpaceCastOperator>(user) || llvm::isa<llvm::PHINode>(user) ||
          llvm::isa<llvm::SelectInst>(user) || llvm::isa<llvm::FreezeInst>(user)) {
        follow(user);
      } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        if (store->getValueOperand() != value) continue;
        if (!is_slot(store->getPointerOperand())) {
          fate.escapes = true;
          break;
        }
        for (const llvm::User* reader : store->getPointerOperand()->users()) {
          if (llvm::isa<llvm::LoadInst>(reader)) follow(reader);
        }
      } else if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(user)) {
        if (exchange->getNewValOperand() == value) fate.escapes = true;
      } else if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(user)) {
        if (update->getValOperand() == value) fate.escapes = true;
      } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user)) {
        visit_call(*call, use);
      } else if (llvm::isa<llvm::ReturnInst>(user)) {
        fate.returned = true;
        if (function == nullptr || !llvm::isa<llvm::Argument>(root)) fate.escapes = true;
      } else {
        fate.escapes = true;
      }
      if (fate.escapes) break;
    }
  }
  return fate;
}

}  // namespace syndrome::instrument
