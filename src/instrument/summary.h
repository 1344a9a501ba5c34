// What the planner of enforcement (enforce/plan/) needs of each function: its control-flow graph
// with the labels of the paper as nodes. It goes into the program as lines of text in a section of
// its own; the build that enforces a plan goes through the same nodes in the same order.
//
// Lines, fields separated by tabs; # is the number of a string, in order of their S lines within
// the unit, 0 for none:
//   U version fast                      a unit begins; fast: probes after inlining
//   S text                              the next string
//   F name# file# line hash flags type# a function; flags: i internal, a address taken, - none
//   B successors                        a block (numbers of blocks of the function, by comma)
//   A kind flags file# line column inlined# variable#
//                                       an access; kind r, w, m (both); flags: g a global itself, -
//   C op lock# file# line column inlined# indirect type# callees#
//                                       a call; op L takes the lock, U gives it back, -; indirect i
//   X                                   the function is left (not where abort() ends the program)
// B, A, C and X are nodes, numbered from 0 in each function; each leads to the next one of its
// block, the last of a block to the blocks' B.

#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <vector>

#include "instrument/plan.h"

namespace syndrome::instrument {

inline constexpr char kSummarySection[] = ".syndrome.summary";
inline constexpr unsigned kSummaryVersion = 1;

struct SummaryNode {
  enum class Kind : std::uint8_t { kBlock, kAccess, kCall, kExit };
  Kind kind = Kind::kBlock;
  llvm::Instruction* at = nullptr;  // operations go before it
  llvm::Value* pointer = nullptr;   // of an access
  std::uint64_t bytes = 0;
  bool reads = false;
  bool writes = false;
};

/// The nodes of a function, in the order of the lines.
[[nodiscard]] std::vector<SummaryNode> nodes_of(llvm::Function& function, const Plan& plan);

/// Puts the summary of all functions that have a plan into the module. Before probes are added.
void add_summary(llvm::Module& module, const Planner& planner, bool fast);

}  // namespace syndrome::instrument
