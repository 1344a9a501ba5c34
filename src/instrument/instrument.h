// The pass: puts probes into a module and its unit (event/unit.h) beside them.

#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

namespace syndrome::instrument {

enum class Mode {
  kSource,  // before any optimization: every access of the source
  kFast,    // after inlining and simplification: what is left of them
};

/// What comes before planning, in a build with probes as in a hardened one: synchronization that is
/// recognized by function, and accessors, which become part of their callers. `plain`: functions
/// that get no probes.
void prepare(llvm::Module& module, llvm::SmallPtrSetImpl<llvm::Function*>& plain);

[[nodiscard]] bool is_cxx(const llvm::Module& module);

/// The probes, the unit and the summary of a module. `plain`: functions that get no probes.
void add_probes(llvm::Module& module, const llvm::SmallPtrSetImpl<llvm::Function*>& plain,
                Mode mode);

class InstrumentPass : public llvm::PassInfoMixin<InstrumentPass> {
 public:
  explicit InstrumentPass(Mode mode) : mode_(mode) {}
  // NOLINTNEXTLINE(readability-identifier-naming): LLVM calls it so.
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);

 private:
  Mode mode_;
};

/// Fast mode's first part, before inlining: synchronization that is recognized by function, and the
/// functions that are blocks by annotation, which stay as they are.
class SynchronizationPass : public llvm::PassInfoMixin<SynchronizationPass> {
 public:
  // NOLINTNEXTLINE(readability-identifier-naming): LLVM calls it so.
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

}  // namespace syndrome::instrument
