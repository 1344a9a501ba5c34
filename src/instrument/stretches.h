// Makes *stretches* of marks in loops that do not leave one record for all (runs.h), because they
// end with what they find in memory, or do not do the same in each round.
//
// An access that moves by its own size from round to round is compared with where the next one of
// its stretch would be. If it is there, that is all. If not, the stretch that there was is recorded
// as a run (wire::Control::kRun), and another one begins; a single access is a word, as anywhere.
// What is left is recorded where the outermost loop ends that neither calls nor synchronizes: a
// search that goes on where it has stopped is one stretch.
//
// Another access to where one of a stretch was, in some rounds (what is found there is swapped), is
// a *spot*: a bit for each of 64 neighbours, which are recorded when one comes that is not among
// them.
//
// So a stretch is recorded behind what the thread did at other sites meanwhile. That is no other
// order than that of runs: nothing in the loop orders anything with other threads. But recordings
// show the order in which a thread accessed a variable, and so only processes that follow their
// accesses (runtime/follow.h), where the first access stands for all, have stretches.

#pragma once

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/DomTreeUpdater.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>

#include <vector>

#include "instrument/marks.h"
#include "instrument/probes.h"

namespace syndrome::instrument {

class Stretches {
 public:
  Stretches(llvm::Function& function, llvm::DominatorTree& dominators, llvm::LoopInfo& loops,
            llvm::ScalarEvolution& scev, llvm::DomTreeUpdater& updater, Probes& probes)
      : function_(function),
        dominators_(dominators),
        loops_(loops),
        scev_(scev),
        updater_(updater),
        probes_(probes) {}

  /// Lowers those marks that can be part of a stretch. `quiet`: loops that neither call nor
  /// synchronize. What it keeps in memory is added to `slots`, to be promoted.
  void lower(const llvm::SmallPtrSetImpl<const llvm::Loop*>& quiet,
             llvm::SmallSetVector<llvm::AllocaInst*, 8>& slots);

 private:
  /// Of a mark: where its stretch began, and where the next access of it would be; null: there is
  /// none.
  struct Stretch {
    Mark mark;
    Walk walk;
    llvm::Loop* outermost;
    llvm::AllocaInst* first;
    llvm::AllocaInst* next;
    llvm::GlobalVariable* shape;
  };

  /// Of a mark: where the first of its spots is, and a bit for each from there on; 0: there are
  /// none.
  struct Spots {
    Mark mark;
    Walk walk;
    llvm::Loop* outermost;
    llvm::AllocaInst* first;
    llvm::AllocaInst* bits;
    llvm::GlobalVariable* shape;
  };

  void begin(Spots& spots);
  void go_on(const Spots& spots);
  void end(const Spots& spots);
  void record(llvm::IRBuilder<>& at, const Spots& spots, llvm::Value* first, llvm::Value* bits,
              bool in_loop);
  /// Puts an access of its own behind `mark` where the process follows none: a block for those that
  /// do.
  [[nodiscard]] llvm::Instruction* unless_following(const Mark& mark, llvm::Instruction* elsewhere,
                                                    llvm::Instruction*& otherwise);

  void begin(Stretch& stretch);
  void go_on(const Stretch& stretch);
  void end(const Stretch& stretch);
  void record(llvm::IRBuilder<>& at, const Stretch& stretch, llvm::Value* first, llvm::Value* next,
              bool in_loop);
  [[nodiscard]] static llvm::Value* behind(llvm::IRBuilder<>& at, const Stretch& stretch,
                                           llvm::Value* pointer);

  llvm::Function& function_;
  llvm::DominatorTree& dominators_;
  llvm::LoopInfo& loops_;
  llvm::ScalarEvolution& scev_;
  llvm::DomTreeUpdater& updater_;
  Probes& probes_;
};

}  // namespace syndrome::instrument
