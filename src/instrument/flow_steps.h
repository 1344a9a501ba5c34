// What is known of a single step of a function by the kind of its instructions: what it does to one
// place in memory, and whether it looks again before it writes.

#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>

#include <cstdint>

namespace syndrome::instrument {

struct StepFacts {
  const llvm::Value* base =
      nullptr;                  // of the one place that it accesses; null: several, or unknown
  std::int64_t offset = 0;      // from the base
  bool reads = false;           // it reads the place, and no more
  bool sets_constant = false;   // it writes a constant there, and no more
  bool updates_unseen = false;  // it reads and writes it at once, and its result is not used

  [[nodiscard]] bool same_place(const StepFacts& other) const {
    return base != nullptr && base == other.base && offset == other.offset;
  }
};

/// Of the instructions of one step, in the SSA form of its function.
[[nodiscard]] StepFacts facts_of(llvm::ArrayRef<const llvm::Instruction*> step);

/// Whether what the first step reads is only compared, for equality, with what the second one
/// writes: then it does no harm to write it once more.
[[nodiscard]] bool is_compared_with_written(llvm::ArrayRef<const llvm::Instruction*> first,
                                            llvm::ArrayRef<const llvm::Instruction*> second);

/// Whether the first step reads a word only because the second one writes some bits of it: what it
/// reads is other bit-fields.
[[nodiscard]] bool keeps_bits(llvm::ArrayRef<const llvm::Instruction*> first,
                              llvm::ArrayRef<const llvm::Instruction*> second);

/// Whether the function of this linkage name inserts a key unless it is there: who calls it need
/// not have looked before.
[[nodiscard]] bool inserts_if_absent(llvm::StringRef linkage_name);
/// Likewise of what a step calls, or was inlined from; of the function itself, not of its SSA form.
[[nodiscard]] bool looks_again(const llvm::Instruction& instruction);

}  // namespace syndrome::instrument
