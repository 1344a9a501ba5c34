// What of a function gets probes: found for all functions of a module before any of them changes.

#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <string>
#include <vector>

#include "event/unit.h"
#include "instrument/escape.h"

namespace syndrome::instrument {

/// A load or store.
struct PlannedAccess {
  llvm::Instruction* instruction;
  llvm::Value* pointer;
  unit::SiteKind kind;
  std::uint64_t bytes;
  /// Not null: a read of one place in a loop that neither calls nor synchronizes, so the first time
  /// covers the others. Where the loop is entered from.
  llvm::BasicBlock* once = nullptr;
  /// Of kReadWrite: the store.
  llvm::Instruction* stores = nullptr;
};

/// llvm.memcpy and the like.
struct PlannedRange {
  llvm::MemIntrinsic* instruction;
  bool reads;
  bool writes;
};

/// An atomic instruction, or the call of a library function for those that are too large for one.
struct PlannedAtomic {
  llvm::Instruction* instruction;
  llvm::Value* pointer;
};

/// A local variable that others may see; it is a new one from `begin` on, or from the function's
/// entry when that is null.
struct PlannedLocal {
  llvm::AllocaInst* local;
  llvm::Instruction* begin;
  std::uint64_t bytes;
};

struct Plan {
  std::vector<PlannedLocal> locals;
  std::vector<PlannedAccess> accesses;
  std::vector<PlannedRange> ranges;
  std::vector<PlannedAtomic> atomics;
  std::vector<llvm::FenceInst*> fences;
  std::vector<llvm::CallBase*> calls;  // that the callee or the runtime will want to know of
  /// Reads that get no probe, because the second is an access of the same bytes just before.
  std::vector<std::pair<const llvm::Instruction*, const llvm::Instruction*>> repeated;
  std::vector<llvm::CallBase*> setjmps;  // calls that return twice
  std::vector<llvm::CallBase*> sources;  // of the calls, those that source_name() has a name for
  llvm::DenseMap<const llvm::CallBase*, unit::SiteFlag> last;  // kLastCall and kLastRelease
  bool leaf = false;   // one access and nothing else: no enter, no exit
  bool framed = true;  // enter and exit can be placed
  [[nodiscard]] bool empty() const {
    return accesses.empty() && ranges.empty() && atomics.empty() && fences.empty() &&
           calls.empty() && setjmps.empty();
  }
};

class Planner {
 public:
  /// `plain`: functions that get no probes whatever they do.
  Planner(llvm::Module& module, const llvm::SmallPtrSetImpl<llvm::Function*>& plain);

  /// Null for a function that gets no probes.
  [[nodiscard]] const Plan* plan_of(const llvm::Function& function) const;

 private:
  [[nodiscard]] bool wanted(const llvm::Function& function) const;
  Plan draft(llvm::Function& function);
  void plan_loops(llvm::Function& function, Plan& plan);
  void plan_locals(llvm::Function& function, Plan& plan);
  void plan_last(llvm::Function& function, Plan& plan);
  void plan_block(llvm::BasicBlock& block, Plan& plan);
  bool quiet(const llvm::CallBase& call) const;
  [[nodiscard]] bool shared(const llvm::Value* pointer);

  const llvm::DataLayout& layout_;
  const llvm::SmallPtrSetImpl<llvm::Function*>& plain_;
  EscapeAnalysis escape_;
  llvm::DenseMap<const llvm::Function*, Plan> plans_;
  llvm::SmallPtrSet<const llvm::Function*, 32> silent_;  // neither they nor their callees have any
};

/// Of a call into another library whose results differ from run to run: what it is called
/// (event/sources.h). Empty for all others.
[[nodiscard]] std::string source_name(const llvm::CallBase& call);

/// Whether an instruction may synchronize: what comes after it says something new.
[[nodiscard]] bool ends_cover(const llvm::Instruction& instruction);

/// The pointer that one of the __atomic_* library functions works on, or null for other calls.
[[nodiscard]] llvm::Value* atomic_call_object(const llvm::CallBase& call);

}  // namespace syndrome::instrument
