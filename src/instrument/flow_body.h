// A function as SSA: a copy whose local variables are registers where that is possible, and in
// which each instruction of a step knows its number. The function itself stays as it is.

#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PassManager.h>

#include <cstdint>
#include <optional>

namespace syndrome::instrument {

/// By the function's instructions: their step.
using StepNumbers = llvm::DenseMap<const llvm::Instruction*, std::uint32_t>;

/// Makes copies, which live until it goes.
class FlowBodies {
 public:
  explicit FlowBodies(llvm::Module& module);
  FlowBodies(const FlowBodies&) = delete;
  FlowBodies& operator=(const FlowBodies&) = delete;
  ~FlowBodies();

  /// The copy of a function that has a body, made when it is asked for the first time. `steps` is
  /// looked at then.
  llvm::Function& of(const llvm::Function& function, const StepNumbers* steps = nullptr);
  /// The step of an instruction of a copy.
  [[nodiscard]] std::optional<std::uint32_t> step_of(const llvm::Instruction& instruction) const;

 private:
  llvm::Function* copy(const llvm::Function& function, const StepNumbers* steps);

  llvm::Module& module_;
  llvm::DISubprogram* mark_;  // the scope of debug locations that are numbers of steps
  llvm::FunctionAnalysisManager analyses_;
  llvm::DenseMap<const llvm::Function*, llvm::Function*> copies_;
};

}  // namespace syndrome::instrument
