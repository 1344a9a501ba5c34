// What a value flows into, in the SSA form of a function.

#pragma once

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <vector>

#include "instrument/flow_facts.h"
#include "instrument/flow_graph.h"

namespace syndrome::instrument {

/// What of the source is in a value; or-ed.
enum Carries : std::uint8_t {
  kValue = 1,    // it is computed from it
  kPointer = 2,  // it is the source, a pointer, or points near it
  kIndex = 4,    // it is a pointer that was computed with it
  kFar = 8,      // it was read through it
  kImplied = 16  // which value it is was decided by it
};

/// How a source comes to a step.
struct Arrival {
  std::uint8_t data = 0;  // Carries of what the step writes or is called with
  std::uint8_t compared = 0;
  bool address = false;
  bool control = false;
};

/// Slices of one function, one after another.
class FlowSlicer {
 public:
  /// Values that one function's slices come to, all together. Those behind are left out: the time
  /// that a large function takes is bounded.
  static constexpr std::uint64_t kMostVisits = 4'000'000;

  FlowSlicer(const llvm::Function& body, const FlowBodies& bodies, FlowFacts& facts,
             const FlowGraph& graph, std::size_t steps, const llvm::Argument* self);

  /// Begins a slice.
  void begin();
  /// What a load, atomic or call gives, or an argument: its value, and local variables that a call
  /// writes.
  void add_source(const llvm::Value& source);
  /// Follows it. False: too much has been followed in this function.
  bool run();

  [[nodiscard]] const std::vector<std::uint32_t>& reached() const { return reached_; }
  [[nodiscard]] const Arrival& arrival(std::uint32_t step) const { return arrivals_[step]; }
  [[nodiscard]] bool reaches_result() const { return result_; }
  /// Blocks that it decides about.
  [[nodiscard]] const llvm::BitVector& decided() const { return decided_; }
  /// Where what it carries is put together with something else.
  [[nodiscard]] const std::vector<std::uint32_t>& joins() const { return joins_; }
  /// One of joins().
  [[nodiscard]] const llvm::Value& join(std::uint32_t at) const { return *values_[at]; }

 private:
  void mark(const llvm::Value& value, std::uint8_t carries);
  void follow(const llvm::Value& value, std::uint8_t carries);
  void pass(const llvm::CallBase& call, unsigned argument, std::uint8_t carries);
  void into_object(const llvm::Value* pointer, const llvm::Instruction& at, std::uint8_t carries);
  void decide(const llvm::BasicBlock& block);
  Arrival* arrive(const llvm::Instruction& at);
  [[nodiscard]] const llvm::Value* object_of(const llvm::Value* pointer) const;

  const FlowBodies& bodies_;
  FlowFacts& facts_;
  const FlowGraph& graph_;
  const llvm::Argument* self_;  // `this`; null: none
  const llvm::Function& body_;
  llvm::DenseMap<const llvm::Value*, std::uint32_t> numbers_;
  std::vector<const llvm::Value*> values_;
  /// Local variables that are no registers and new memory, by who reads them.
  struct Reader {
    const llvm::Instruction* instruction;
    unsigned argument;  // of a call
  };
  llvm::DenseMap<const llvm::Value*, std::vector<Reader>> objects_;
  llvm::DenseMap<const llvm::Instruction*, std::uint32_t> steps_;
  std::uint64_t visits_ = 0;
  // Of the slice.
  std::vector<std::uint8_t> carries_;  // by value
  std::vector<std::uint8_t> followed_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> work_;
  std::vector<Arrival> arrivals_;
  llvm::BitVector arrived_;
  std::vector<std::uint32_t> reached_;
  std::vector<std::uint32_t> joins_;
  llvm::DenseMap<std::pair<const llvm::Value*, const llvm::Instruction*>, std::uint8_t> filled_;
  llvm::BitVector decided_;
  llvm::BitVector branches_;
  bool result_ = false;
};

}  // namespace syndrome::instrument
