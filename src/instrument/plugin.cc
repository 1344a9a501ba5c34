// What clang loads: -fpass-plugin=syndrome_pass.so. The mode is -mllvm -syndrome-mode=fast, which
// clang knows only when the plugin is loaded with -Xclang -load as well.

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>

#include <string>

#include "instrument/enforce.h"
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

llvm::cl::opt<std::string> plan("syndrome-enforce",
                                llvm::cl::desc("The plan of a hardened build, instead of probes"),
                                llvm::cl::value_desc("file"));
llvm::cl::opt<bool> steps("syndrome-steps", llvm::cl::desc("Steps in a hardened build"));
llvm::cl::opt<bool> probes("syndrome-probes", llvm::cl::desc("Probes in a hardened build as well"));

void add_callbacks(llvm::PassBuilder& builder) {
  builder.registerPipelineStartEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
        if (!plan.empty()) {
          passes.addPass(syndrome::instrument::EnforcePass({plan.getValue(), steps, probes}));
        } else if (mode == Mode::kSource) {
          passes.addPass(InstrumentPass(Mode::kSource));
        } else {
          passes.addPass(syndrome::instrument::SynchronizationPass());
        }
      });
  builder.registerOptimizerEarlyEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
        if (mode != Mode::kFast || !plan.empty()) return;
        passes.addPass(InstrumentPass(Mode::kFast));
        passes.addPass(llvm::createModuleToFunctionPassAdaptor(RunsPass()));
      });
  builder.registerScalarOptimizerLateEPCallback(
      [](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) {
        if (mode == Mode::kSource && (plan.empty() || probes)) passes.addPass(RunsPass());
      });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "syndrome", SYNDROME_VERSION, add_callbacks};
}
