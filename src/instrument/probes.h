// Writes the probes themselves (runtime/probes.h) into a function.

#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>

#include "event/wire.h"

namespace syndrome::instrument {

class Probes {
 public:
  explicit Probes(llvm::Module& module);

  /// One word. `migrates`: the function may go on in another thread (a coroutine).
  llvm::CallInst* word(llvm::IRBuilder<>& at, llvm::Value* word, bool migrates);
  void access(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site, bool migrates);
  /// An access of a loop that may be recorded when the loop is over (runs.h): lowered later.
  /// `done`: null, or a byte that says whether this read, the same in each round, was recorded.
  llvm::CallInst* mark(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site, bool writes,
                       llvm::Value* done);
  /// As access(), for an access that needs not stay behind its probe.
  void loose_access(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site);
  /// kEnter, kExit, kLeaf: of the function at `address`; `top` is an i32 or null for 0.
  void control(llvm::IRBuilder<>& at, wire::Control kind, llvm::Constant* address, llvm::Value* top,
               bool migrates);

  /// The site of the call that goes on.
  [[nodiscard]] llvm::Value* load_call(llvm::IRBuilder<>& at, bool migrates);
  void store_call(llvm::IRBuilder<>& at, llvm::Value* site, bool migrates);

  /// A call of the runtime's `name`.
  llvm::CallInst* runtime(llvm::IRBuilder<>& at, const char* name, llvm::Type* result,
                          llvm::ArrayRef<llvm::Value*> arguments);

 private:
  [[nodiscard]] llvm::Value* window(llvm::IRBuilder<>& at, bool migrates);

  llvm::Module& module_;
  llvm::GlobalVariable* thread_;
  llvm::InlineAsm* probe_;
};

}  // namespace syndrome::instrument
