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

/// Whether the instruction is of a function of a lock guard (std::lock_guard, unique_lock,
/// shared_lock, scoped_lock) that is about the guard alone, wherever that has been inlined.
[[nodiscard]] bool is_of_lock_guard(const llvm::Instruction& instruction);

/// Whether the atomics of the function count the owners of shared pointers, as the library does;
/// and whether it may be the last owner's.
[[nodiscard]] bool counts_owners(const llvm::Function& function);
[[nodiscard]] bool lets_go_of_owner(const llvm::Function& function);

/// Whether a function of the library says something by being called: the counts of shared pointers,
/// and waiting for a future.
[[nodiscard]] bool means_something(const llvm::Function& function);

/// Whether a function of the library takes several locks.
[[nodiscard]] bool takes_locks(const llvm::Function& function);

/// Makes the internal functions of those classes call copies without probes of what they use of the
/// library and of each other's public functions, and puts the calls of Synchronizes into the public
/// ones. Returns the copies through `plain`: they get no probes either.
void rewrite_synchronization(llvm::Module& module, llvm::SmallPtrSetImpl<llvm::Function*>& plain);

}  // namespace syndrome::instrument
