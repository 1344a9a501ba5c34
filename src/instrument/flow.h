// What connects the steps of a function by its text alone (docs/units.md, event/unit.h): which values
// flow from one access or call into another, which decide whether another happens, which are put
// together.
//
// It works on a copy of the module in which local variables are values (SSA), because before the
// optimizer everything goes through memory. Flow stays inside of one function, but for what it asks
// of its callees: whether they write through a pointer. It never goes through memory that others may
// see: what comes back from there is another value.

#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace syndrome::instrument {

struct Flows {
  struct Pair {
    const llvm::Instruction* from;
    const llvm::Instruction* to;
    std::uint32_t how;  // unit::FlowHow
  };
  std::vector<Pair> pairs;
  /// Steps whose value reaches the function's result.
  llvm::DenseSet<const llvm::Instruction*> results;
  /// Parameters that point to an object of a known size.
  struct Object {
    unsigned argument;
    std::uint64_t bytes;
    std::string type;  // empty: not known
  };
  std::vector<Object> objects;
};

class FlowAnalysis {
 public:
  /// Copies the module: changes to it afterwards do not matter.
  explicit FlowAnalysis(const llvm::Module& module);
  ~FlowAnalysis();
  FlowAnalysis(const FlowAnalysis&) = delete;
  FlowAnalysis& operator=(const FlowAnalysis&) = delete;

  /// Of a function of the module as it was; `steps` are the accesses and calls that count. A
  /// function that is too large (flow.cc) has none.
  [[nodiscard]] Flows of(const llvm::Function& function,
                         llvm::ArrayRef<const llvm::Instruction*> steps);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace syndrome::instrument
