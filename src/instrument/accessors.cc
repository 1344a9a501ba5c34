#include "instrument/accessors.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
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

/// Larger functions are worth a frame, and would make their callers grow. Those of the library have
/// more to do with what the optimizer takes away.
constexpr unsigned kMostInstructions = 64;
constexpr unsigned kMostOfLibrary = 256;
/// And a caller that has grown to this gets no more: clang's time grows faster than its functions.
constexpr unsigned kMostInCaller = 1u << 14;

bool is_local(const llvm::Value* pointer) {
  return llvm::isa<llvm::AllocaInst>(pointer->stripInBoundsConstantOffsets());
}

bool in_library(const llvm::Function& function) {
  const llvm::DISubprogram* program = function.getSubprogram();
  return program != nullptr && program->getFile() != nullptr &&
         in_system_header(program->getFile()->getFilename());
}

/// Whether it is one of the standard library, by its linkage name: what else lies in a system
/// header may be a class whose member functions are of interest.
bool is_of_standard(const llvm::Function& function) {
  llvm::StringRef name = function.getName();
  if (!name.consume_front("_Z")) return name.starts_with("__");
  name = name.drop_while([](char c) { return c == 'Z' || c == 'N' || c == 'K' || c == 'L'; });
  return name.starts_with("St") || name.ltrim("0123456789").starts_with("__");
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

/// Whether an instruction only computes or reads.
bool is_simple(const llvm::Instruction& instruction, bool library) {
  if (instruction.isAtomic()) return false;
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    return !store->isVolatile() && (library || is_local(store->getPointerOperand()));
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    if (instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd()) return true;
    const llvm::Function* callee = call->getCalledFunction();
    if (callee == nullptr || !llvm::isa<llvm::CallInst>(call)) return false;
    return callee->isIntrinsic() && call->doesNotAccessMemory();
  }
  return !instruction.isEHPad() &&
         (!instruction.isTerminator() || llvm::isa<llvm::ReturnInst>(instruction));
}

bool is_accessor(const llvm::Function& function) {
  unsigned count = 0;
  const bool library = in_library(function);
  for (const llvm::Instruction& instruction : function.getEntryBlock()) {
    if (!is_simple(instruction, library)) return false;
    if (instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd() ||
        llvm::isa<llvm::AllocaInst>(instruction)) {
      continue;
    }
    ++count;
  }
  return count <= kMostInstructions;
}

/// What clang calls where something is thrown through a noexcept function, as most destructors are.
bool is_terminate(const llvm::Function& function) {
  return function.getName() == "__clang_call_terminate";
}

/// Whether a call of it in a function of the library may become one of that function's caller. A
/// call that takes several locks has their names.
bool may_be_called(const llvm::Function& callee) {
  return callee.isDeclaration() || is_terminate(callee) ||
         (in_library(callee) && !takes_locks(callee));
}

/// Whether a call of it cannot synchronize, as far as that is known without a look into it.
bool is_quiet(const llvm::Function& callee) {
  return callee.isIntrinsic() || callee.doesNotReturn() || callee.getName().starts_with("_Zn") ||
         callee.getName().starts_with("_Zd");
}

/// A function of the library that hands on to its like and to what has no probes: from
/// std::lock_guard down to pthread_mutex_lock, and std::atomic. Not one with a loop around
/// synchronization, nor one that has a meaning by its name.
bool is_forwarder(const llvm::Function& function) {
  if (!in_library(function) || !is_of_standard(function) || means_something(function)) return false;
  unsigned count = 0;
  bool quiet = true;
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& instruction : block) {
      if (instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd() ||
          llvm::isa<llvm::AllocaInst>(instruction)) {
        continue;
      }
      if (++count > kMostOfLibrary) return false;
      if (instruction.isAtomic()) quiet = false;
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr) continue;
      const llvm::Function* callee = call->getCalledFunction();
      if (callee == nullptr || llvm::isa<llvm::CallBrInst>(call) ||
          callee->hasFnAttribute(llvm::Attribute::ReturnsTwice)) {
        return false;
      }
      if (!may_be_called(*callee)) return false;
      quiet = quiet && is_quiet(*callee);
    }
  }
  if (quiet) return true;
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
  // What an internal function calls may be recorded: it itself is not.
  if (is_internal(caller)) return;
  // Nor is a function without probes, and an atomic in it would order nothing.
  const bool silent = caller.hasFnAttribute(llvm::Attribute::DisableSanitizerInstrumentation);
  llvm::SmallVector<llvm::CallBase*, 16> calls;
  for (llvm::BasicBlock& block : caller) {
    for (llvm::Instruction& instruction : block) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr || call->isMustTailCall() || call->isNoInline()) continue;
      llvm::Function* callee = call->getCalledFunction();
      // A call without a place would leave the callee's instructions without one.
      if (callee == nullptr || !accessors.contains(callee) || !fits(caller, *callee)) continue;
      if (caller.getSubprogram() != nullptr && !call->getDebugLoc()) continue;
      if (silent && !(may_be_accessor(*callee) && is_accessor(*callee))) continue;
      calls.push_back(call);
    }
  }
  unsigned size = caller.getInstructionCount();
  for (llvm::CallBase* call : calls) {
    if (size > kMostInCaller) return;
    size += call->getCalledFunction()->getInstructionCount();
    llvm::InlineFunctionInfo information;
    (void)llvm::InlineFunction(*call, information);
  }
}

/// Each function behind those that it calls, but for those that call each other.
std::vector<llvm::Function*> callees_first(llvm::Module& module) {
  std::vector<llvm::Function*> order;
  llvm::SmallPtrSet<llvm::Function*, 32> seen;
  struct Step {
    llvm::Function* function;
    llvm::inst_iterator at;
  };
  std::vector<Step> path;
  const auto go = [&](llvm::Function* function) {
    if (function == nullptr || function->isDeclaration() || !seen.insert(function).second) return;
    path.push_back({function, llvm::inst_begin(*function)});
  };
  for (llvm::Function& function : module) {
    go(&function);
    while (!path.empty()) {
      Step& step = path.back();
      if (step.at == llvm::inst_end(*step.function)) {
        order.push_back(step.function);
        path.pop_back();
      } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&*step.at++)) {
        go(call->getCalledFunction());
      }
    }
  }
  return order;
}

}  // namespace

void inline_accessors(llvm::Module& module, const llvm::SmallPtrSetImpl<llvm::Function*>& kept) {
  llvm::SmallPtrSet<llvm::Function*, 32> accessors;
  // Each is complete, with its callees in it, before its size is looked at.
  for (llvm::Function* function : callees_first(module)) {
    inline_into(*function, accessors);
    if (!may_be_inlined(*function, kept)) continue;
    if ((may_be_accessor(*function) && is_accessor(*function)) || is_forwarder(*function)) {
      accessors.insert(function);
    }
  }
}

}  // namespace syndrome::instrument
