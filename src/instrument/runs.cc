#include "instrument/runs.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/DomTreeUpdater.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/MemoryLocation.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "event/wire.h"
#include "instrument/abi.h"
#include "instrument/marks.h"
#include "instrument/plan.h"
#include "instrument/probes.h"
#include "instrument/stretches.h"

namespace syndrome::instrument {
namespace {

class Lowering {
 public:
  Lowering(llvm::Function& function, llvm::FunctionAnalysisManager& analyses)
      : function_(function),
        dominators_(analyses.getResult<llvm::DominatorTreeAnalysis>(function)),
        loops_(analyses.getResult<llvm::LoopAnalysis>(function)),
        scev_(analyses.getResult<llvm::ScalarEvolutionAnalysis>(function)),
        aliases_(analyses.getResult<llvm::AAManager>(function)),
        updater_(dominators_, llvm::DomTreeUpdater::UpdateStrategy::Eager),
        probes_(*function.getParent()) {}

  void run() {
    find_quiet_loops();
    find_covered();
    const llvm::SmallVector<llvm::Loop*, 4> all = loops_.getLoopsInPreorder();
    for (llvm::Loop* loop : all) {
      if (loop->isInnermost()) lower(*loop);
    }
    lower_covered();
    Stretches(function_, dominators_, loops_, scev_, updater_, probes_).lower(quiet_, flags_);
    std::vector<Mark> left;
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
      if (const std::optional<Mark> mark = mark_of(instruction)) left.push_back(*mark);
    }
    for (const Mark& mark : left) lower(mark);
    std::vector<llvm::AllocaInst*> slots(flags_.begin(), flags_.end());
    std::erase_if(slots, [](llvm::AllocaInst* slot) { return !llvm::isAllocaPromotable(slot); });
    llvm::PromoteMemToReg(slots, dominators_);
  }

 private:
  /// Loops that neither call nor synchronize.
  void find_quiet_loops() {
    for (const llvm::Loop* loop : loops_.getLoopsInPreorder()) {
      const bool quiet = llvm::all_of(loop->blocks(), [](llvm::BasicBlock* block) {
        return llvm::all_of(*block, [](llvm::Instruction& instruction) {
          return mark_of(instruction).has_value() || !ends_cover(instruction);
        });
      });
      if (quiet) quiet_.insert(loop);
    }
  }

  /// Whether both are in a loop that neither calls nor synchronizes. Where one of two marks of the
  /// same pointer dominates the other, that one comes behind it in each run of the loop, and behind
  /// nothing else that computes the pointer anew.
  [[nodiscard]] bool are_together(const Mark& a, const Mark& b) const {
    for (const llvm::Loop* loop = loops_.getLoopFor(a.call->getParent()); loop != nullptr;
         loop = loop->getParentLoop()) {
      if (loop->contains(b.call)) return quiet_.contains(loop);
    }
    return false;
  }

  /// Reading what has been accessed just before says nothing new (plan.h). Recordings have it all
  /// the same: what is in them does not depend on what the optimizer found out.
  void find_covered() {
    llvm::MapVector<llvm::Value*, std::vector<Mark>> marks;
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
      const std::optional<Mark> mark = mark_of(instruction);
      if (mark.has_value() && !mark->once()) marks[mark->pointer()].push_back(*mark);
    }
    for (const auto& [pointer, same] : marks) {
      for (const Mark& mark : same) {
        const bool covered = llvm::any_of(same, [&](const Mark& other) {
          return other.call != mark.call && other.shape().bytes >= mark.shape().bytes &&
                 dominators_.dominates(other.call, mark.call) && are_together(other, mark);
        });
        if (covered && !mark.writes() && mark.shape().bytes != 0) covered_.insert(mark.call);
      }
    }
  }

  /// What is covered and not part of a run.
  void lower_covered() {
    std::vector<Mark> left;
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
      const std::optional<Mark> mark = mark_of(instruction);
      if (mark.has_value() && covered_.contains(mark->call)) left.push_back(*mark);
    }
    for (const Mark& mark : left) {
      llvm::IRBuilder<> at(mark.call);
      llvm::Value* records = at.CreateICmpEQ(
          at.CreateLoad(at.getInt32Ty(), follows(*function_.getParent())), at.getInt32(0));
      llvm::IRBuilder<> then(
          llvm::SplitBlockAndInsertIfThen(records, mark.call, false, nullptr, &updater_, &loops_));
      then.SetCurrentDebugLocation(mark.call->getDebugLoc());
      probes_.loose_access(then, mark.pointer(), mark.site(), mark.shape());
      mark.call->eraseFromParent();
    }
  }

  /// The marks of a loop in the order of a round; none when it cannot leave one record.
  [[nodiscard]] std::vector<Mark> marks_of(llvm::Loop& loop) const {
    std::vector<Mark> marks;
    for (llvm::BasicBlock* block : loop.blocks()) {
      for (llvm::Instruction& instruction : *block) {
        if (const std::optional<Mark> mark = mark_of(instruction)) {
          if (!dominators_.dominates(block, loop.getLoopLatch()) || mark->site() > 0xffff) {
            return {};
          }
          marks.push_back(*mark);
        } else if (llvm::isa<llvm::CallBase>(instruction) &&
                   !llvm::isa<llvm::IntrinsicInst>(instruction)) {
          return {};
        }
      }
    }
    std::ranges::sort(marks, [this](const Mark& a, const Mark& b) {
      return a.call != b.call && dominators_.dominates(a.call, b.call);
    });
    // A read that is recorded once is recorded before the rounds: as if it came before the writes.
    for (auto read = marks.begin(); read != marks.end(); ++read) {
      if (!read->once()) continue;
      const bool moves = std::any_of(marks.begin(), read, [&](const Mark& write) {
        return write.writes() && !aliases_.isNoAlias(write.location(), read->location());
      });
      if (moves) return {};
    }
    return marks;
  }

  /// Whether a condition compares what moves in the loop with what does not.
  [[nodiscard]] bool counts(llvm::Value* condition, const llvm::Loop& loop, unsigned depth = 0) {
    llvm::Value *left = nullptr, *right = nullptr;
    using namespace llvm::PatternMatch;
    if (depth < 4 && (match(condition, m_LogicalAnd(m_Value(left), m_Value(right))) ||
                      match(condition, m_LogicalOr(m_Value(left), m_Value(right))))) {
      return counts(left, loop, depth + 1) || counts(right, loop, depth + 1);
    }
    const auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(condition);
    if (comparison == nullptr || !scev_.isSCEVable(comparison->getOperand(0)->getType())) {
      return false;
    }
    const llvm::SCEV* a = scev_.getSCEV(comparison->getOperand(0));
    const llvm::SCEV* b = scev_.getSCEV(comparison->getOperand(1));
    return (scev_.isLoopInvariant(a, &loop) && llvm::isa<llvm::SCEVAddRecExpr>(b)) ||
           (scev_.isLoopInvariant(b, &loop) && llvm::isa<llvm::SCEVAddRecExpr>(a));
  }

  /// Whether it may have many rounds: one that ends with what it finds in memory alone (a search)
  /// often has fewer than its record would have words.
  [[nodiscard]] bool counts(llvm::Loop& loop) {
    llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
    loop.getExitingBlocks(exiting);
    return llvm::any_of(exiting, [&](llvm::BasicBlock* block) {
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      return branch != nullptr && branch->isConditional() && counts(branch->getCondition(), loop);
    });
  }

  void lower(llvm::Loop& loop) {
    if (llvm::none_of(loop.blocks(), [](llvm::BasicBlock* block) {
          return llvm::any_of(*block, [](llvm::Instruction& i) { return mark_of(i).has_value(); });
        })) {
      return;
    }
    llvm::simplifyLoop(&loop, &dominators_, &loops_, &scev_, nullptr, nullptr, false);
    llvm::formLCSSA(loop, dominators_, &loops_, &scev_);
    if (!loop.isLoopSimplifyForm() || !counts(loop)) return;
    const std::vector<Mark> marks = marks_of(loop);
    std::vector<Mark> once, repeated;
    for (const Mark& mark : marks) (mark.once() ? once : repeated).push_back(mark);
    if (repeated.empty() || repeated.size() > wire::kMaxRunSites) return;

    llvm::Instruction* before = loop.getLoopPreheader()->getTerminator();
    llvm::SCEVExpander expander(scev_, function_.getParent()->getDataLayout(), "syndrome");
    std::vector<Walk> walks;
    for (const Mark& mark : repeated) {
      const std::optional<Walk> walk = walk_of(mark, loop, scev_);
      if (!walk.has_value() || !expander.isSafeToExpandAt(walk->start, before)) return;
      walks.push_back(*walk);
    }
    for (const Mark& mark : once) {
      const llvm::SCEV* address = scev_.getSCEV(mark.pointer());
      if (!scev_.isLoopInvariant(address, &loop) || !expander.isSafeToExpandAt(address, before)) {
        return;
      }
    }
    std::vector<llvm::Value*> starts, places;
    for (std::size_t i = 0; i < repeated.size(); ++i) {
      starts.push_back(
          expander.expandCodeFor(walks[i].start, repeated[i].pointer()->getType(), before));
    }
    for (const Mark& mark : once) {
      places.push_back(
          expander.expandCodeFor(scev_.getSCEV(mark.pointer()), mark.pointer()->getType(), before));
    }
    llvm::PHINode* rounds = count_rounds(loop);
    llvm::SmallVector<llvm::BasicBlock*, 4> exits;
    loop.getUniqueExitBlocks(exits);
    llvm::GlobalVariable* shape = run_shape(*function_.getParent(), repeated, walks, covered_);
    for (llvm::BasicBlock* exit : exits) {
      leave(*exit, *rounds, once, places, repeated, starts, shape);
    }
    for (const Mark& mark : marks) mark.call->eraseFromParent();
    scev_.forgetLoop(&loop);
  }

  static llvm::PHINode* count_rounds(llvm::Loop& loop) {
    llvm::IRBuilder<> top(&loop.getHeader()->front());
    llvm::PHINode* rounds = top.CreatePHI(top.getInt64Ty(), 2, "syndrome.rounds");
    llvm::IRBuilder<> bottom(loop.getLoopLatch()->getTerminator());
    rounds->addIncoming(bottom.getInt64(0), loop.getLoopPreheader());
    rounds->addIncoming(bottom.CreateAdd(rounds, bottom.getInt64(1), "", true, true),
                        loop.getLoopLatch());
    return rounds;
  }

  [[nodiscard]] bool reached(const Mark& mark, const llvm::BasicBlock* exiting) const {
    return dominators_.dominates(mark.call->getParent(), exiting);
  }

  /// A value that depends on the block that the exit is reached from.
  template <typename Of>
  static llvm::Value* at_exit(llvm::BasicBlock& exit, llvm::Type* type, Of of) {
    llvm::SmallVector<llvm::BasicBlock*, 4> from(llvm::predecessors(&exit));
    llvm::IRBuilder<> at(&exit.front());
    llvm::PHINode* phi = at.CreatePHI(type, static_cast<unsigned>(from.size()));
    for (llvm::BasicBlock* block : from) phi->addIncoming(of(block), block);
    if (llvm::Value* same = phi->hasConstantValue(); llvm::isa_and_present<llvm::Constant>(same)) {
      phi->eraseFromParent();
      return same;
    }
    return phi;
  }

  /// What is recorded where the loop ends.
  void leave(llvm::BasicBlock& exit, llvm::PHINode& rounds, const std::vector<Mark>& once,
             const std::vector<llvm::Value*>& places, const std::vector<Mark>& repeated,
             const std::vector<llvm::Value*>& starts, llvm::GlobalVariable* shape) {
    llvm::IRBuilder<> type(exit.getContext());
    llvm::Value* whole =
        at_exit(exit, type.getInt64Ty(), [&](llvm::BasicBlock*) { return &rounds; });
    llvm::Value* rest = at_exit(exit, type.getInt32Ty(), [&](llvm::BasicBlock* from) {
      return type.getInt32(static_cast<std::uint32_t>(
          std::ranges::count_if(repeated, [&](const Mark& mark) { return reached(mark, from); })));
    });
    std::vector<llvm::Value*> began;
    for (const Mark& mark : once) {
      began.push_back(at_exit(exit, type.getInt1Ty(), [&](llvm::BasicBlock* from) {
        return type.getInt1(reached(mark, from));
      }));
    }
    llvm::IRBuilder<> at(&*exit.getFirstInsertionPt());
    const llvm::DebugLoc place = repeated.back().call->getDebugLoc();
    at.SetCurrentDebugLocation(place);
    llvm::Value* any = at.CreateICmpNE(whole, at.getInt64(0));
    for (std::size_t i = 0; i < once.size(); ++i) {
      llvm::Value* fresh =
          at.CreateICmpEQ(at.CreateLoad(at.getInt8Ty(), once[i].done()), at.getInt8(0));
      llvm::Instruction* then =
          llvm::SplitBlockAndInsertIfThen(at.CreateAnd(at.CreateOr(any, began[i]), fresh),
                                          at.GetInsertPoint(), false, nullptr, &updater_, &loops_);
      llvm::IRBuilder<> first(then);
      first.SetCurrentDebugLocation(once[i].call->getDebugLoc());
      probes_.loose_access(first, places[i], once[i].site(), once[i].shape());
      first.CreateStore(first.getInt8(1), once[i].done());
      at.SetInsertPoint(then->getSuccessor(0)->getFirstNonPHIOrDbg());
      at.SetCurrentDebugLocation(place);
      flags_.insert(llvm::cast<llvm::AllocaInst>(once[i].done()));
    }
    llvm::Value* some = at.CreateOr(any, at.CreateICmpNE(rest, at.getInt32(0)));
    llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(some, at.GetInsertPoint(), false,
                                                              nullptr, &updater_, &loops_);
    llvm::IRBuilder<> last(then);
    last.SetCurrentDebugLocation(place);
    llvm::AllocaInst* array = slots();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      last.CreateStore(starts[i], last.CreateConstGEP1_64(last.getPtrTy(), array, i));
    }
    probes_.runtime(last, abi::kRun, last.getVoidTy(), {shape, array, whole, rest});
  }

  llvm::AllocaInst* slots() {
    if (slots_ == nullptr) {
      llvm::IRBuilder<> top(&function_.getEntryBlock().front());
      slots_ = top.CreateAlloca(llvm::ArrayType::get(top.getPtrTy(), wire::kMaxRunSites));
    }
    return slots_;
  }

  void lower(const Mark& mark) {
    llvm::Instruction* where = mark.call;
    if (mark.once()) {
      llvm::IRBuilder<> at(where);
      llvm::Value* fresh =
          at.CreateICmpEQ(at.CreateLoad(at.getInt8Ty(), mark.done()), at.getInt8(0));
      where = llvm::SplitBlockAndInsertIfThen(fresh, where, false, nullptr, &updater_, &loops_);
      llvm::IRBuilder<>(where).CreateStore(at.getInt8(1), mark.done());
      flags_.insert(llvm::cast<llvm::AllocaInst>(mark.done()));
    }
    llvm::IRBuilder<> at(where);
    at.SetCurrentDebugLocation(mark.call->getDebugLoc());
    probes_.loose_access(at, mark.pointer(), mark.site(), mark.shape());
    mark.call->eraseFromParent();
  }

  llvm::Function& function_;
  llvm::DominatorTree& dominators_;
  llvm::LoopInfo& loops_;
  llvm::ScalarEvolution& scev_;
  llvm::AAResults& aliases_;
  llvm::DomTreeUpdater updater_;
  Probes probes_;
  llvm::AllocaInst* slots_ = nullptr;
  llvm::SmallSetVector<llvm::AllocaInst*, 8> flags_;
  llvm::SmallPtrSet<const llvm::Loop*, 8> quiet_;
  llvm::SmallPtrSet<const llvm::CallInst*, 8> covered_;
};

}  // namespace

llvm::PreservedAnalyses RunsPass::run(llvm::Function& function,
                                      llvm::FunctionAnalysisManager& analyses) {
  const bool marked =
      llvm::any_of(llvm::instructions(function),
                   [](llvm::Instruction& instruction) { return mark_of(instruction).has_value(); });
  if (!marked) return llvm::PreservedAnalyses::all();
  Lowering(function, analyses).run();
  return llvm::PreservedAnalyses::none();
}

}  // namespace syndrome::instrument
