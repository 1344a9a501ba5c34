// What flow.cc asks of values and callees, in a module whose local variables are values.

#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <string>
#include <utility>

namespace syndrome::instrument {

/// What a pointer points into: through offsets and casts.
[[nodiscard]] const llvm::Value* base_of(const llvm::Value* pointer);

/// Memory of this function alone: a local variable that is not stored anywhere, or what it has
/// allocated.
[[nodiscard]] bool is_private(const llvm::Value* base);

/// A call that only locks, unlocks, constructs or destroys.
[[nodiscard]] bool only_manages(const llvm::CallBase& call);

class FlowFacts {
 public:
  explicit FlowFacts(const llvm::Module& module) : layout_(module.getDataLayout()) {}

  /// Whether the call may write through the argument, a pointer.
  [[nodiscard]] bool may_write(const llvm::CallBase& call, unsigned argument);

  struct Object {
    std::uint64_t bytes = 0;  // 0: not known
    std::string type;
  };
  /// What the parameter points to.
  [[nodiscard]] Object object_of(const llvm::Argument& argument);

 private:
  [[nodiscard]] bool may_write(const llvm::Argument& argument);

  const llvm::DataLayout& layout_;
  llvm::DenseMap<const llvm::Argument*, bool> writes_;
  llvm::DenseMap<const llvm::Argument*, Object> objects_;
};

}  // namespace syndrome::instrument
