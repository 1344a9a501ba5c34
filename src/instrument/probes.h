// Writes the probes themselves (runtime/probes.h) into a function.

#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>

#include "event/wire.h"

namespace syndrome::instrument {

/// Of an access, as far as the filter (event/filter.h) has to know it.
struct Shape {
  static constexpr unsigned kMostBytes = 64;
  unsigned bytes = 0;  // 0: more, or not known
  bool writes = false;
  bool crosses = false;  // they may lie in two granules

  [[nodiscard]] std::uint32_t number() const {
    return (crosses ? 0x100u : 0u) | (bytes << 1) | (writes ? 1 : 0);
  }
  [[nodiscard]] static Shape of(std::uint64_t number) {
    return {static_cast<unsigned>(number & 0xff) >> 1, (number & 1) != 0, (number & 0x100) != 0};
  }
};

class Probes {
 public:
  explicit Probes(llvm::Module& module);

  /// One word. `migrates`: the function may go on in another thread (a coroutine).
  llvm::CallInst* word(llvm::IRBuilder<>& at, llvm::Value* word, bool migrates);
  void access(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site, Shape shape,
              bool migrates);
  /// An access of a loop that may be recorded when the loop is over (runs.h): lowered later.
  /// `done`: null, or a byte that says whether this read, the same in each round, was recorded;
  /// `function`: whose site it is.
  llvm::CallInst* mark(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site, Shape shape,
                       llvm::Value* done, llvm::Constant* function);
  /// As access(), for an access that needs not stay behind its probe.
  void loose_access(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site, Shape shape);
  /// Accesses at one site to neighbours, from the first up to before `next` (stretches.h).
  /// `in_loop`: where it is better to keep every register.
  void stretch(llvm::IRBuilder<>& at, llvm::Constant* shape, llvm::Value* first, llvm::Value* next,
               bool in_loop);
  /// The same of those among the first and 63 behind it that have their bit.
  void spots(llvm::IRBuilder<>& at, llvm::Constant* shape, llvm::Value* first, llvm::Value* bits,
             bool in_loop);
  /// kEnter, kExit, kLeaf: of the function at `address`; `top` is an i32 or null for 0.
  void control(llvm::IRBuilder<>& at, wire::Control kind, llvm::Constant* address, llvm::Value* top,
               bool migrates);
  /// kExit, of a function that does not migrate: where nothing was told since its kEnter, that one
  /// is taken back instead.
  void exit(llvm::IRBuilder<>& at, llvm::Constant* address);

  /// The site of the call that goes on.
  [[nodiscard]] llvm::Value* load_call(llvm::IRBuilder<>& at, bool migrates);
  void store_call(llvm::IRBuilder<>& at, llvm::Value* site, bool migrates);

  /// A call of the runtime's `name`.
  llvm::CallInst* runtime(llvm::IRBuilder<>& at, const char* name, llvm::Type* result,
                          llvm::ArrayRef<llvm::Value*> arguments);

 private:
  llvm::CallInst* access_word(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site,
                              Shape shape, bool migrates);
  llvm::CallInst* filtered(llvm::IRBuilder<>& at, llvm::Value* address, llvm::Value* word,
                           Shape shape);
  llvm::CallInst* wide(llvm::IRBuilder<>& at, llvm::Value* word, Shape shape);
  [[nodiscard]] llvm::Value* filter(llvm::IRBuilder<>& at);
  [[nodiscard]] llvm::Attribute element(llvm::Type* type) const;
  [[nodiscard]] static llvm::Constant* flags_of(llvm::IRBuilder<>& at, llvm::Constant* address);
  [[nodiscard]] llvm::Value* window(llvm::IRBuilder<>& at, bool migrates);

  llvm::Module& module_;
  llvm::GlobalVariable* thread_;
  llvm::InlineAsm* probe_;
  llvm::InlineAsm* filtered_;
  llvm::InlineAsm* wide_;
  llvm::InlineAsm* block_;
  llvm::InlineAsm* exit_;
  llvm::InlineAsm* gap_;
  llvm::InlineAsm* far_;
};

}  // namespace syndrome::instrument
