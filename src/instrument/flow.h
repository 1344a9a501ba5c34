// Which steps of a function are connected, and how, by its text alone (event/unit.h, Flow).

#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "instrument/flow_body.h"
#include "instrument/flow_facts.h"
#include "instrument/plan.h"

namespace syndrome::instrument {

/// An access of the function itself or a call in it. What was inlined from a system header is one
/// step with all else that was inlined at the same call of the program.
struct Step {
  const llvm::Instruction* instruction = nullptr;  // one of the step's, before instrumentation
  bool reads = false;                              // it has a value
  bool writes = false;
  bool call = false;
  bool steered = false;      // unit::kSteered
  bool looks_again = false;  // it notices what has changed since
};

struct StepFlow {
  std::uint32_t from = 0;  // index of a step
  std::uint32_t to = 0;
  std::uint32_t how = 0;  // unit::FlowHow
};

/// What `this` or a parameter points to.
struct FlowObject {
  unsigned parameter = 0;
  std::uint64_t bytes = 0;
  std::string name;  // of its type; empty: not known
};

struct FunctionFlow {
  std::vector<Step> steps;
  std::vector<StepFlow> flows;
  std::vector<std::uint32_t> results;  // steps with unit::kReachesResult
  std::vector<FlowObject> objects;
};

/// Of the functions of the program, not of the library. All is found when it is made, before the
/// module changes.
class FlowAnalysis {
 public:
  FlowAnalysis(llvm::Module& module, const Planner& planner);

  /// Null for a function that has none.
  [[nodiscard]] const FunctionFlow* of(const llvm::Function& function) const {
    const auto found = flows_.find(&function);
    return found == flows_.end() ? nullptr : &found->second;
  }

 private:
  llvm::DenseMap<const llvm::Function*, FunctionFlow> flows_;
};

}  // namespace syndrome::instrument
