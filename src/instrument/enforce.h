// The pass of a hardened build: puts the locks of a plan (enforce/plan/plan.h) where it says.
//
// It looks at the code at the same point of the compilation as the pass that puts in probes, so
// that the nodes have the same numbers. A function that is not what the plan was made for is an
// error that names it.
//
// In a function, each lock has two sets of origins, as bits: those for which it is held, and those
// of them that need it exclusively. They are local variables that become registers; the lock
// runtime (enforce/lock_runtime/) is called when the first origin comes and when the last one goes.
//
// To try a hardened program out, it may have more: steps (enforce/steps/), or probes, which see our
// locks as locks, so that the program with its locks can be recorded and checked.

#pragma once

#include <llvm/IR/PassManager.h>

#include <string>
#include <utility>

namespace syndrome::instrument {

struct EnforceOptions {
  std::string plan;  // the file
  bool steps = false;
  bool probes = false;
};

class EnforcePass : public llvm::PassInfoMixin<EnforcePass> {
 public:
  explicit EnforcePass(EnforceOptions options) : options_(std::move(options)) {}
  // NOLINTNEXTLINE(readability-identifier-naming): LLVM calls it so.
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);

 private:
  EnforceOptions options_;
};

}  // namespace syndrome::instrument
