#include "instrument/flow_facts.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include "instrument/abi.h"

namespace syndrome::instrument {
namespace {

/// Of functions without a body here, those that write nothing of the program's through a pointer
/// that they are given, or nothing that a value flows by: locks, output.
bool only_reads(llvm::StringRef name) {
  for (const char* exact :
       {"printf",  "fprintf", "puts",    "fputs",      "putchar", "fwrite",    "write",   "perror",
        "strlen",  "strcmp",  "strncmp", "strcasecmp", "memcmp",  "strchr",    "strrchr", "strstr",
        "atoi",    "atol",    "strtol",  "free",       "usleep",  "nanosleep", "fflush",  "_ZdlPv",
        "_ZdlPvm", "_ZdaPv",  "abort",   "exit",       "send"}) {
    if (name == exact) return true;
  }
  if (name.starts_with("pthread_")) return name != "pthread_join" && name != "pthread_create";
  for (const char* prefix :
       {"sem_", "mtx_", "cnd_", "_ZNSo", "_ZStls", "_ZNSt5mutex", "_ZNSt18condition_variable",
        "_ZNSt6thread", "_ZNSt8ios_base", "_ZNSt9basic_ios", "__cxa_", "_ZSt4endl", "_ZSt16__throw",
        "_ZSt20__throw"}) {
    if (name.starts_with(prefix)) return true;
  }
  return name.starts_with(abi::kPrefix);
}

}  // namespace

bool allocates(const llvm::CallBase& call) {
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee == nullptr) return false;
  const llvm::StringRef name = callee->getName();
  return name == "malloc" || name == "calloc" || name == "aligned_alloc" ||
         name.starts_with("_Znw") || name.starts_with("_Zna");
}

bool compares_and_swaps(const llvm::CallBase& call) {
  const llvm::Function* const callee = call.getCalledFunction();
  return callee != nullptr && callee->getName().contains("compare_exchange");
}

bool has_known_body(const llvm::Function& function) {
  return !function.isDeclaration() &&
         (!function.isInterposable() || function.hasLinkOnceLinkage()) &&
         !function.isPresplitCoroutine();
}

bool FlowFacts::writes(const llvm::CallBase& call, unsigned argument) {
  if (!call.getArgOperand(argument)->getType()->isPointerTy() || call.isByValArgument(argument) ||
      call.onlyReadsMemory(argument) || call.onlyReadsMemory()) {
    return false;
  }
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) {
    return llvm::isa<llvm::MemIntrinsic>(intrinsic) && argument == 0;
  }
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee == nullptr) return true;
  if (has_known_body(*callee) && argument < callee->arg_size()) return of(*callee, argument).writes;
  return !only_reads(callee->getName());
}

bool FlowFacts::returns(const llvm::CallBase& call, unsigned argument) {
  if (call.getType()->isVoidTy()) return false;
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee == nullptr || !has_known_body(*callee) || argument >= callee->arg_size()) {
    return callee == nullptr || !callee->getName().starts_with("pthread_");
  }
  return of(*callee, argument).returns;
}

FlowFacts::Known FlowFacts::of(const llvm::Function& function, unsigned parameter) {
  const Key key{&function, parameter};
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (depth_ >= kMostDepth) return {.writes = true, .returns = true};
  // While it is being found, a recursive call does nothing more than the rest.
  known_[key] = {};
  ++depth_;
  const Known result = find(bodies_.of(function), parameter);
  --depth_;
  known_[key] = result;
  return result;
}

FlowFacts::Known FlowFacts::find(const llvm::Function& body, unsigned parameter) {
  Known found;
  // Values that are made of the parameter, and those among them that point into what it points to.
  llvm::SmallPtrSet<const llvm::Value*, 16> made;
  llvm::SmallPtrSet<const llvm::Value*, 16> pointers;
  llvm::SmallVector<const llvm::Value*, 16> work;
  const auto add = [&](const llvm::Value* value, bool points) {
    const bool is_new = made.insert(value).second;
    const bool points_now = points && pointers.insert(value).second;
    if (is_new || points_now) work.push_back(value);
  };
  add(body.getArg(parameter), body.getArg(parameter)->getType()->isPointerTy());
  while (!work.empty() && !(found.writes && found.returns)) {
    const llvm::Value* const value = work.pop_back_val();
    const bool points = pointers.contains(value);
    for (const llvm::Use& use : value->uses()) {
      const auto* const user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
      if (user == nullptr) continue;
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        if (store->getValueOperand() == value) {
          const llvm::Value* const base = llvm::getUnderlyingObject(store->getPointerOperand());
          // What lies in a local variable comes out of it again.
          if (llvm::isa<llvm::AllocaInst>(base)) add(base, false);
        } else if (points) {
          found.writes = true;
        }
      } else if (llvm::isa<llvm::AtomicRMWInst>(user) || llvm::isa<llvm::AtomicCmpXchgInst>(user)) {
        if (points && use.getOperandNo() == 0) found.writes = true;
        add(user, false);
      } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user)) {
        if (!call->isArgOperand(&use)) continue;
        const unsigned number = call->getArgOperandNo(&use);
        if (points && writes(*call, number)) found.writes = true;
        if (returns(*call, number)) add(user, points && user->getType()->isPointerTy());
        for (unsigned i = 0; i < call->arg_size(); ++i) {
          const llvm::Value* const base = llvm::getUnderlyingObject(call->getArgOperand(i));
          if (i != number && llvm::isa<llvm::AllocaInst>(base) && writes(*call, i)) {
            add(base, false);
          }
        }
      } else if (llvm::isa<llvm::ReturnInst>(user)) {
        found.returns = true;
      } else if (llvm::isa<llvm::BranchInst>(user) || llvm::isa<llvm::SwitchInst>(user)) {
        for (const llvm::BasicBlock& block : body) {
          const auto* const end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
          if (end != nullptr && end->getReturnValue() != nullptr &&
              !llvm::isa<llvm::Constant>(end->getReturnValue())) {
            found.returns = true;
          }
        }
      } else {
        const bool address = llvm::isa<llvm::GetElementPtrInst>(user)
                                 ? use.getOperandNo() == 0
                                 : llvm::isa<llvm::CastInst>(user) ||
                                       llvm::isa<llvm::PHINode>(user) ||
                                       llvm::isa<llvm::SelectInst>(user);
        add(user, points && address);
      }
    }
  }
  return found;
}

std::uint64_t FlowFacts::struct_bytes(const llvm::Function& function, unsigned parameter,
                                      const llvm::StructType*& type) {
  const Key key{&function, parameter};
  if (const auto found = structs_.find(key); found != structs_.end()) {
    if (type == nullptr) type = found->second.second;
    return found->second.first;
  }
  if (depth_ >= kMostDepth) return 0;
  structs_[key] = {};
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  std::uint64_t most = 0;
  const llvm::StructType* known = nullptr;
  ++depth_;
  for (const llvm::Use& use : bodies_.of(function).getArg(parameter)->uses()) {
    std::uint64_t bytes = 0;
    const llvm::StructType* of_use = nullptr;
    if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(use.getUser())) {
      of_use = llvm::dyn_cast<llvm::StructType>(address->getSourceElementType());
      if (of_use == nullptr || use.getOperandNo() != 0 || !of_use->isSized()) continue;
      bytes = layout.getTypeAllocSize(const_cast<llvm::StructType*>(of_use)).getFixedValue();
    } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser())) {
      if (!call->isArgOperand(&use)) continue;
      const unsigned number = call->getArgOperandNo(&use);
      bytes = call->getParamDereferenceableBytes(number);
      const llvm::Function* const callee = call->getCalledFunction();
      if (bytes == 0 && callee != nullptr && has_known_body(*callee) &&
          number < callee->arg_size()) {
        bytes = struct_bytes(*callee, number, of_use);
      }
    }
    if (bytes > most) {
      most = bytes;
      known = of_use;
    }
  }
  --depth_;
  structs_[key] = {most, known};
  if (type == nullptr) type = known;
  return most;
}

}  // namespace syndrome::instrument
