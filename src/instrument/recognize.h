// Synchronization that is inlined down to atomics and futexes, told by the names of its functions
// before inlining: std::latch, std::barrier, std::counting_semaphore, and what std::atomic::wait
// waits with.

#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

namespace syndrome::instrument {

/// What a function does for those who call it. Each takes the object as its first argument.
struct Synchronizes {
  bool arrive = false;      // at its beginning: barrier_arrive
  bool leave = false;       // at its end: barrier_leave
  bool post = false;        // at its beginning
  bool wait = false;        // at its end
  bool if_true = false;     // at its end only when it returns true
  bool completion = false;  // a barrier with a completion function of the program
  [[nodiscard]] bool any() const { return arrive || leave || post || wait; }
};

[[nodiscard]] Synchronizes synchronizes(const llvm::Function& function);

/// Whether the function is a part of those classes, or of what waiting and waking is made of: it
/// gets no probes.
[[nodiscard]] bool is_internal(const llvm::Function& function);

/// Makes the internal functions of those classes call copies without probes of what they use of the
/// library and of each other's public functions, and puts the calls of Synchronizes into the public
/// ones. Returns the copies through `plain`: they get no probes either.
void rewrite_synchronization(llvm::Module& module, llvm::SmallPtrSetImpl<llvm::Function*>& plain);

}  // namespace syndrome::instrument
