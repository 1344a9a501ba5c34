#include "instrument/accessors.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <string>
#include <vector>

#include "instrument/abi.h"
#include "instrument/recognize.h"
#include "instrument/sites.h"

namespace syndrome::instrument {
namespace {

/// Larger functions are worth a frame, and would make their callers grow.
constexpr unsigned kMostInstructions = 64;

bool is_local(const llvm::Value* pointer) {
  return llvm::isa<llvm::AllocaInst>(pointer->stripInBoundsConstantOffsets());
}

bool in_library(const llvm::Function& function) {
  const llvm::DISubprogram* program = function.getSubprogram();
  return program != nullptr && program->getFile() != nullptr &&
         in_system_header(program->getFile()->getFilename());
}

bool may_be_inlined(const llvm::Function& function,
                    const llvm::SmallPtrSetImpl<llvm::Function*>& kept) {
  if (function.isDeclaration() || function.isInterposable() || function.isVarArg() ||
      function.hasFnAttribute(llvm::Attribute::NoInline) ||
      function.hasFnAttribute(llvm::Attribute::OptimizeNone) ||
      function.hasFnAttribute(llvm::Attribute::DisableSanitizerInstrumentation) ||
      function.hasFnAttribute(llvm::Attribute::Naked) || function.isPresplitCoroutine() ||
      function.getName() == "main" || function.getName().starts_with(abi::kPrefix)) {
    return false;
  }
  return !kept.contains(&function) && !is_internal(function) && !synchronizes(function).any();
}

bool may_be_accessor(const llvm::Function& function) {
  return function.size() == 1 && !function.hasPersonalityFn() &&
         llvm::isa<llvm::ReturnInst>(function.getEntryBlock().getTerminator());
}

/// Whether an instruction only computes or reads, or calls an accessor.
bool is_simple(const llvm::Instruction& instruction, bool library,
               const llvm::SmallPtrSetImpl<llvm::Function*>& accessors) {
  if (instruction.isAtomic()) return false;
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    return !store->isVolatile() && (library || is_local(store->getPointerOperand()));
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    if (instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd()) return true;
    llvm::Function* callee = call->getCalledFunction();
    if (callee == nullptr || !llvm::isa<llvm::CallInst>(call)) return false;
    if (callee->isIntrinsic()) return call->doesNotAccessMemory();
    return accessors.contains(callee);
  }
  return !instruction.isEHPad() &&
         (!instruction.isTerminator() || llvm::isa<llvm::ReturnInst>(instruction));
}

bool is_accessor(const llvm::Function& function,
                 const llvm::SmallPtrSetImpl<llvm::Function*>& accessors) {
  unsigned count = 0;
  const bool library = in_library(function);
  for (const llvm::Instruction& instruction : function.getEntryBlock()) {
    if (!is_simple(instruction, library, accessors)) return false;
    if (instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd() ||
        llvm::isa<llvm::AllocaInst>(instruction)) {
      continue;
    }
    ++count;
  }
  return count <= kMostInstructions;
}

/// A function of the library without loops and atomics (those have a meaning by their functions'
/// names, recognize.h) that calls nothing but its like and what has no probes: from std::lock_guard
/// down to pthread_mutex_lock.
bool is_forwarder(const llvm::Function& function,
                  const llvm::SmallPtrSetImpl<llvm::Function*>& inlined) {
  if (!in_library(function)) return false;
  unsigned count = 0;
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& instruction : block) {
      if (instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd() ||
          llvm::isa<llvm::AllocaInst>(instruction)) {
        continue;
      }
      if (++count > kMostInstructions || instruction.isAtomic()) return false;
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr) continue;
      llvm::Function* callee = call->getCalledFunction();
      if (callee == nullptr || llvm::isa<llvm::CallBrInst>(call) ||
          callee->hasFnAttribute(llvm::Attribute::ReturnsTwice)) {
        return false;
      }
      if (!callee->isDeclaration() && !inlined.contains(callee)) return false;
    }
  }
  llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 4> loops;
  llvm::FindFunctionBackedges(function, loops);
  return loops.empty();
}

bool fits(const llvm::Function& caller, const llvm::Function& callee) {
  for (const char* attribute : {"target-cpu", "target-features"}) {
    if (caller.getFnAttribute(attribute) != callee.getFnAttribute(attribute)) return false;
  }
  return !caller.hasFnAttribute(llvm::Attribute::OptimizeNone) && &caller != &callee;
}

void inline_into(llvm::Function& caller, const llvm::SmallPtrSetImpl<llvm::Function*>& accessors) {
  llvm::SmallVector<llvm::CallBase*, 16> calls;
  for (llvm::BasicBlock& block : caller) {
    for (llvm::Instruction& instruction : block) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr || call->isMustTailCall() || call->isNoInline()) continue;
      llvm::Function* callee = call->getCalledFunction();
      // A call without a place would leave the callee's instructions without one.
      if (callee == nullptr || !accessors.contains(callee) || !fits(caller, *callee)) continue;
      if (caller.getSubprogram() != nullptr && !call->getDebugLoc()) continue;
      calls.push_back(call);
    }
  }
  for (llvm::CallBase* call : calls) {
    llvm::InlineFunctionInfo information;
    (void)llvm::InlineFunction(*call, information);
  }
}

}  // namespace

void inline_accessors(llvm::Module& module, const llvm::SmallPtrSetImpl<llvm::Function*>& kept) {
  llvm::SmallPtrSet<llvm::Function*, 32> accessors;
  std::vector<llvm::Function*> candidates;
  for (llvm::Function& function : module) {
    if (may_be_inlined(function, kept)) candidates.push_back(&function);
  }
  const auto is_one = [&](const llvm::Function& function) {
    return (may_be_accessor(function) && is_accessor(function, accessors)) ||
           is_forwarder(function, accessors);
  };
  // From those that call nothing to those that call only accessors. Each is complete, with its
  // callees in it, before its size is looked at for the next round.
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::Function* function : candidates) {
      if (accessors.contains(function) || !is_one(*function)) continue;
      inline_into(*function, accessors);
      if (!is_one(*function)) continue;
      accessors.insert(function);
      changed = true;
    }
  }
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && !accessors.contains(&function)) {
      inline_into(function, accessors);
    }
  }
}

}  // namespace syndrome::instrument
