// Which memory of a function nobody else can see: variables whose address never leaves the function
// and those that it calls.
//
// Before any optimization every parameter and every local pointer lies in a stack slot of its own,
// so the walk follows a pointer into a slot and out of it again, and into the functions of the same
// module that it is passed to. Whatever the walk does not know counts as an escape.

#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Argument.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>

namespace syndrome::instrument {

/// Answers stay valid while only probes are added to the module.
class EscapeAnalysis {
 public:
  /// Whether what `pointer` points to can only be memory of this thread that no other one can
  /// reach: allocas, by-value arguments and thread-local variables whose address stays here.
  [[nodiscard]] bool unshared(const llvm::Value* pointer);

 private:
  struct Fate {
    bool escapes = false;
    bool returned = false;  // in the return value of the function whose argument it is
  };

  bool stays(const llvm::Value* object);
  Fate fate_of(const llvm::Value* root, const llvm::Function* function);
  Fate fate_of_argument(const llvm::Argument* argument);
  bool is_slot(const llvm::Value* pointer);

  llvm::DenseMap<const llvm::Value*, bool> stays_;
  llvm::DenseMap<const llvm::Value*, bool> slots_;
  llvm::DenseMap<const llvm::Argument*, Fate> arguments_;
  unsigned depth_ = 0;
};

}  // namespace syndrome::instrument
