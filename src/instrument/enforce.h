// The pass of a hardened build: puts the locks of a plan (enforce/plan/plan.h) where it says.
//
// It looks at the code at the same point of the compilation as the pass that puts in probes, so
// that the nodes have the same numbers. A function that is not what the plan was made for is an
// error that names it.
//
// In a function, each lock has two sets of origins, as bits: those for which it is held, and those
// of them that need it exclusively. They are local variables that become registers; the lock
// runtime (enforce/lock_runtime/) is called when the first origin comes and when the last one goes.

#pragma once

#include <llvm/IR/PassManager.h>

#include <string>
#include <utility>

namespace syndrome::instrument {

class EnforcePass : public llvm::PassInfoMixin<EnforcePass> {
 public:
  explicit EnforcePass(std::string plan) : plan_(std::move(plan)) {}
  // NOLINTNEXTLINE(readability-identifier-naming): LLVM calls it so.
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);

 private:
  std::string plan_;  // the file
};

}  // namespace syndrome::instrument
