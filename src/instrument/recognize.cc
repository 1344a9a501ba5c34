#include "instrument/recognize.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/EscapeEnumerator.h>

#include <string>

#include "instrument/abi.h"

namespace syndrome::instrument {
namespace {

/// The demangled name without the return type that template functions show, without parameters of
/// the function, and with libc++'s inline namespace taken out; empty for what is not in std.
std::string std_name(const llvm::Function& function) {
  const llvm::StringRef mangled = function.getName();
  if (!mangled.starts_with("_ZNSt") && !mangled.starts_with("_ZNKSt") &&
      !mangled.starts_with("_ZSt") && !mangled.starts_with("_ZZNSt") &&
      !mangled.starts_with("_ZZNKSt") && !mangled.starts_with("_ZZSt")) {
    return {};
  }
  llvm::ItaniumPartialDemangler demangler;
  const std::string text = mangled.str();
  if (demangler.partialDemangle(text.c_str()) || !demangler.isFunction()) return {};
  std::size_t length = 0;
  char* raw = demangler.getFunctionName(nullptr, &length);
  if (raw == nullptr) return {};
  std::string name(raw);
  std::free(raw);
  for (std::size_t at = name.find("std::__1::"); at != std::string::npos;
       at = name.find("std::__1::")) {
    name.erase(at + 5, 5);
  }
  // A function in a function template shows the return type of the latter.
  if (const std::size_t at = name.find(" std::");
      at != std::string::npos && at < name.find('<') && !name.starts_with("std::")) {
    name.erase(0, at + 1);
  }
  return name;
}

/// "std::barrier" and "arrive" of "std::barrier<void (*)()>::arrive"; a method of a class of
/// methods, such as a lambda in it, is none.
struct Method {
  llvm::StringRef type;
  llvm::StringRef arguments;  // of the template
  llvm::StringRef name;
};

Method method_of(llvm::StringRef name) {
  Method method;
  std::size_t end = name.find_first_of("<(", 5);
  std::size_t colon = name.find("::", 5);
  if (colon == llvm::StringRef::npos) return method;
  if (end != llvm::StringRef::npos && end < colon && name[end] == '<') {
    unsigned depth = 0;
    std::size_t at = end;
    for (; at < name.size(); ++at) {
      if (name[at] == '<') ++depth;
      if (name[at] == '>' && --depth == 0) break;
    }
    method.type = name.substr(0, end);
    method.arguments = name.slice(end + 1, at);
    if (!name.substr(at + 1).starts_with("::")) return {};
    method.name = name.substr(at + 3);
  } else {
    method.type = name.substr(0, colon);
    method.name = name.substr(colon + 2);
  }
  // Methods that are templates themselves (try_acquire_for<…>).
  method.name = method.name.substr(0, method.name.find('<'));
  if (method.name.contains("::") || method.name.contains('(')) method.name = {};
  return method;
}

bool starts_with_any(llvm::StringRef name, std::initializer_list<llvm::StringRef> prefixes) {
  return llvm::any_of(prefixes, [&](llvm::StringRef prefix) { return name.starts_with(prefix); });
}

/// Whether a function, by its linkage name, is one of these classes of std, mangled.
bool is_member_of(llvm::StringRef name, std::initializer_list<llvm::StringRef> classes) {
  if (!name.consume_front("_ZN")) return false;
  name.consume_front("K");
  if (!name.consume_front("St")) return false;
  name.consume_front("3__1");  // libc++'s inline namespace
  return starts_with_any(name, classes);
}

bool is_class_of_ours(llvm::StringRef name) {
  return starts_with_any(
      name, {"std::latch::", "std::barrier<", "std::counting_semaphore<", "std::__tree_barrier<",
             "std::__atomic_semaphore::", "std::__platform_semaphore::", "std::__barrier_base<",
             "std::__barrier_algorithm_base", "std::__arrive_barrier_algorithm_base",
             "std::__dispatch_arrive_barrier", "std::__destroy_barrier_algorithm_base"});
}

/// The last name is that of the class: "std::barrier<>::barrier", "std::latch::~latch".
bool is_constructor(llvm::StringRef name) {
  const llvm::StringRef last = name.substr(name.rfind("::") + 2);
  return last.starts_with("~") || last == "latch" || last == "barrier" ||
         last == "counting_semaphore" || last.starts_with("__tree_barrier") ||
         last == "__atomic_semaphore";
}

bool is_waiting(llvm::StringRef name) {
  return starts_with_any(name, {"std::__detail::__waiter",
                                "std::__detail::__timed_waiter",
                                "std::__detail::__platform_wait",
                                "std::__detail::__platform_notify",
                                "std::__detail::__wait_until",
                                "std::__detail::__wait_for",
                                "std::__detail::__thread_relax",
                                "std::__detail::__thread_yield",
                                "std::__detail::__atomic_",
                                "std::__detail::__default_spin",
                                "std::__detail::__timed_backoff",
                                "std::__detail::__enters_wait",
                                "std::__detail::__bare_wait",
                                "std::__atomic_wait_address",
                                "std::__atomic_notify_address",
                                "std::__libcpp_atomic_",
                                "std::__atomic_wait",
                                "std::__atomic_notify",
                                "std::__cxx_atomic_wait",
                                "std::__cxx_atomic_notify"});
}

/// Copies of functions that internal functions call, with everything that those call in turn.
class PlainCopies {
 public:
  explicit PlainCopies(llvm::SmallPtrSetImpl<llvm::Function*>& plain) : plain_(plain) {}

  void redirect(llvm::Function& function) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
        if (callee == nullptr || callee->isDeclaration() || plain_.contains(callee)) continue;
        if (std_name(*callee).empty()) continue;
        call->setCalledFunction(copy_of(*callee));
      }
    }
  }

 private:
  llvm::Function* copy_of(llvm::Function& function) {
    const auto [at, added] = copies_.try_emplace(&function, nullptr);
    if (!added) return at->second;
    llvm::ValueToValueMapTy map;
    llvm::Function* copy = llvm::CloneFunction(&function, map);
    copy->setName(function.getName() + ".plain");
    copy->setComdat(nullptr);
    copy->setLinkage(llvm::GlobalValue::InternalLinkage);
    copy->setVisibility(llvm::GlobalValue::DefaultVisibility);
    copies_[&function] = copy;
    plain_.insert(copy);
    redirect(*copy);
    return copy;
  }

  llvm::DenseMap<llvm::Function*, llvm::Function*> copies_;
  llvm::SmallPtrSetImpl<llvm::Function*>& plain_;
};

class Announcer {
 public:
  explicit Announcer(llvm::Module& module) : module_(module) {}

  void announce(llvm::Function& function, const Synchronizes& what) {
    llvm::Argument* object = function.getArg(0);
    if (function.hasStructRetAttr() || object->hasStructRetAttr()) object = function.getArg(1);
    llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
    // A completion runs between the arrivals and the departures, in one of the threads. The edges
    // to it go by an object of their own beside the barrier.
    const auto beside = [&](llvm::IRBuilder<>& at) {
      return at.CreateConstGEP1_64(at.getInt8Ty(), object, 1);
    };
    if (what.arrive) {
      call(builder, abi::kBarrierArrive, object);
      if (what.completion) call(builder, "__syndrome_happens_before", beside(builder));
    }
    if (what.post) call(builder, abi::kPost, object);
    if (!what.leave && !what.wait) return;
    llvm::SmallVector<llvm::ReturnInst*, 4> returns;
    for (llvm::BasicBlock& block : function) {
      if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) {
        returns.push_back(end);
      }
    }
    for (llvm::ReturnInst* end : returns) {
      llvm::Instruction* at = end;
      if (what.if_true && end->getReturnValue() != nullptr) {
        llvm::IRBuilder<> before(end);
        llvm::Value* yes = before.CreateIsNotNull(end->getReturnValue());
        at = llvm::SplitBlockAndInsertIfThen(yes, end, false);
      }
      llvm::IRBuilder<> after(at);
      if (what.leave) {
        call(after, abi::kBarrierLeave, object);
        if (what.completion) call(after, "__syndrome_happens_after", beside(after));
      }
      if (what.wait) call(after, abi::kWait, object);
    }
  }

  /// Around what the barrier's own function calls when a phase is complete.
  void announce_completion(llvm::Function& function) {
    llvm::SmallVector<llvm::CallBase*, 2> completions;
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        auto* inner = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (inner == nullptr || inner->isInlineAsm()) continue;
        const llvm::Function* callee = inner->getCalledFunction();
        if (callee != nullptr &&
            (callee->isIntrinsic() || callee->isDeclaration() || !std_name(*callee).empty() ||
             callee->getName().ends_with(".plain"))) {
          continue;
        }
        completions.push_back(inner);
      }
    }
    for (llvm::CallBase* completion : completions) {
      llvm::IRBuilder<> before(completion);
      llvm::Value* object = before.CreateConstGEP1_64(before.getInt8Ty(), function.getArg(0), 1);
      call(before, "__syndrome_happens_after", object);
      llvm::IRBuilder<> after(completion->getNextNode());
      call(after, "__syndrome_happens_before", object);
    }
  }

 private:
  void call(llvm::IRBuilder<>& builder, const char* name, llvm::Value* object) {
    llvm::FunctionCallee callee =
        module_.getOrInsertFunction(name, builder.getVoidTy(), builder.getPtrTy());
    builder.CreateCall(callee, {object})->setDoesNotThrow();
  }

  llvm::Module& module_;
};

/// std::lock tries and lets go again until it has all. What it had meanwhile protects nothing: only
/// what it has in the end is recorded.
void announce_locks(llvm::Function& function) {
  const auto call = [&function](llvm::IRBuilder<>& at, const char* name) {
    at.CreateCall(function.getParent()->getOrInsertFunction(name, at.getVoidTy()))
        ->setDoesNotThrow();
  };
  llvm::IRBuilder<> begin(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  call(begin, abi::kLocksBegin);
  llvm::EscapeEnumerator exits(function, "syndrome.unwind", function.hasPersonalityFn());
  while (llvm::IRBuilder<>* at = exits.Next()) call(*at, abi::kLocksEnd);
}

/// libomp gives the memory of a task that is over to the next one, of whichever thread, and orders
/// the two where nobody sees it: what it gives is another variable.
void renew_tasks(llvm::Module& module) {
  const llvm::Function* const allocate = module.getFunction("__kmpc_omp_task_alloc");
  if (allocate == nullptr) return;
  constexpr unsigned kBytes = 3;    // of the task, its private variables included
  constexpr unsigned kShareds = 4;  // of what it shares, which lies behind
  for (const llvm::User* user : allocate->users()) {
    const auto* const call = llvm::dyn_cast<llvm::CallInst>(user);
    if (call == nullptr || call->getCalledFunction() != allocate || call->arg_size() <= kShareds) {
      continue;
    }
    auto* const task = const_cast<llvm::CallInst*>(call);
    llvm::IRBuilder<> at(task->getNextNode());
    llvm::Value* const bytes =
        at.CreateAdd(at.CreateZExtOrTrunc(task->getArgOperand(kBytes), at.getInt64Ty()),
                     at.CreateZExtOrTrunc(task->getArgOperand(kShareds), at.getInt64Ty()));
    at.CreateCall(
          module.getOrInsertFunction(abi::kLocal, at.getVoidTy(), at.getPtrTy(), at.getInt64Ty()),
          {task, bytes})
        ->setDoesNotThrow();
  }
}

}  // namespace

Synchronizes synchronizes(const llvm::Function& function) {
  const std::string name = std_name(function);
  if (!is_class_of_ours(name)) return {};
  const Method method = method_of(name);
  Synchronizes what;
  if (method.type == "std::latch") {
    what.post = method.name == "count_down" || method.name == "arrive_and_wait";
    what.wait =
        method.name == "wait" || method.name == "try_wait" || method.name == "arrive_and_wait";
    what.if_true = method.name == "try_wait";
  } else if (method.type == "std::barrier") {
    what.arrive = method.name.starts_with("arrive") && !method.name.starts_with("arrival");
    what.leave = method.name == "wait" || method.name == "arrive_and_wait";
    what.completion = !method.arguments.starts_with("std::__empty_completion");
  } else if (method.type == "std::counting_semaphore") {
    what.post = method.name == "release";
    what.wait = method.name == "acquire" || method.name.starts_with("try_acquire");
    what.if_true = method.name != "acquire";
  }
  return what;
}

bool is_internal(const llvm::Function& function) {
  const std::string name = std_name(function);
  return !name.empty() && (is_class_of_ours(name) || is_waiting(name));
}

bool is_of_lock_guard(const llvm::Instruction& instruction) {
  llvm::StringRef name = instruction.getFunction()->getName();
  if (const llvm::DILocation* at = instruction.getDebugLoc().get()) {
    name = at->getScope()->getSubprogram()->getLinkageName();
  }
  return is_member_of(name,
                      {"10lock_guardI", "11unique_lockI", "11shared_lockI", "11scoped_lockI"});
}

bool counts_owners(const llvm::Function& function) {
  return function.getName().starts_with("_ZNSt16_Sp_counted_base") ||
         function.getName().contains("9__gnu_cxx12__atomic_add") || lets_go_of_owner(function);
}

bool lets_go_of_owner(const llvm::Function& function) {
  return function.getName().contains("9__gnu_cxx18__exchange_and_add");
}

bool means_something(const llvm::Function& function) {
  return counts_owners(function) ||
         is_member_of(function.getName(), {"6futureI", "13shared_futureI", "14__basic_futureI",
                                           "13__future_base13_State_baseV2"});
}

bool takes_locks(const llvm::Function& function) {
  return starts_with_any(function.getName(),
                         {"_ZNSt11scoped_lock", "_ZSt4lockI", "_ZSt8try_lockI",
                          "_ZNSt8__detail11__lock_impl", "_ZNSt8__detail15__try_lock_impl"});
}

void rewrite_synchronization(llvm::Module& module, llvm::SmallPtrSetImpl<llvm::Function*>& plain) {
  renew_tasks(module);
  llvm::SmallVector<llvm::Function*, 16> internal;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    if (is_internal(function)) internal.push_back(&function);
    if (starts_with_any(std_name(function), {"std::lock<", "std::try_lock<"})) {
      announce_locks(function);
    }
  }
  if (internal.empty()) return;
  PlainCopies copies(plain);
  Announcer announcer(module);
  // Before anything is copied: what a barrier's functions call is the copy.
  for (llvm::Function* function : internal) {
    const std::string name = std_name(*function);
    const Method method = method_of(name);
    if (method.type == "std::__tree_barrier" && method.name == "arrive" &&
        !method.arguments.starts_with("std::__empty_completion")) {
      announcer.announce_completion(*function);
    }
  }
  for (llvm::Function* function : internal) {
    const std::string name = std_name(*function);
    // What waits for the program's own atomic calls back into it, and those loads are events.
    if (is_class_of_ours(name) && !is_constructor(name)) copies.redirect(*function);
  }
  for (llvm::Function* function : internal) {
    const Synchronizes what = synchronizes(*function);
    if (what.any()) announcer.announce(*function, what);
  }
}

}  // namespace syndrome::instrument
