// What clang loads: -fpass-plugin=syndrome_pass.so. The mode is -mllvm -syndrome-mode=fast, which
// clang knows only when the plugin is loaded with -Xclang -load as well.

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>

#include "instrument/instrument.h"
#include "instrument/runs.h"

namespace {

using syndrome::instrument::InstrumentPass;
using syndrome::instrument::Mode;
using syndrome::instrument::RunsPass;

llvm::cl::opt<Mode> mode("syndrome-mode", llvm::cl::desc("Where Syndrome puts its probes"),
                         llvm::cl::values(clEnumValN(Mode::kSource, "source",
                                                     "before any optimization"),
                                          clEnumValN(Mode::kFast, "fast", "after inlining")),
                         llvm::cl::init(Mode::kSource));

void add_callbacks(llvm::PassBuilder& builder) {
  builder.registerPipelineStartEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
        if (mode == Mode::kSource) {
          passes.addPass(InstrumentPass(Mode::kSource));
        } else {
          passes.addPass(syndrome::instrument::SynchronizationPass());
        }
      });
  builder.registerOptimizerEarlyEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
        if (mode != Mode::kFast) return;
        passes.addPass(InstrumentPass(Mode::kFast));
        passes.addPass(llvm::createModuleToFunctionPassAdaptor(RunsPass()));
      });
  builder.registerScalarOptimizerLateEPCallback(
      [](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) {
        if (mode == Mode::kSource) passes.addPass(RunsPass());
      });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "syndrome", SYNDROME_VERSION, add_callbacks};
}
