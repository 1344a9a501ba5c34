// Makes probes of the marks in loops (twins.h), after the optimizer has put the loops into shape.
//
// An innermost loop in which every marked access happens in every round, at an address that moves
// by the same few bytes each time, leaves one record behind it (wire::Control::kRun) instead of a
// word for each access. Other marks become probes where they are.

#pragma once

#include <llvm/IR/PassManager.h>

namespace syndrome::instrument {

struct RunsPass : llvm::PassInfoMixin<RunsPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  // NOLINTNEXTLINE(readability-identifier-naming): LLVM calls it so.
  static bool isRequired() { return true; }
};

}  // namespace syndrome::instrument
