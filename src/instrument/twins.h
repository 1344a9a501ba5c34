// Loops that neither call nor synchronize get a twin: one has a probe before each access, for runs
// that want to know the order of racing accesses (record --order exact); in the other, accesses are
// marked, the optimizer does what it would have done without the marks, and runs.h then makes
// records of whole loops of them.

#pragma once

#include <llvm/IR/Function.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "instrument/plan.h"

namespace syndrome::instrument {

/// Makes the twins of a function's loops. What a planned instruction, its pointer or the block that
/// a loop is entered from became in the twin can be looked up in `twins`.
void make_twins(llvm::Function& function, const Plan& plan, llvm::ValueToValueMapTy& twins);

}  // namespace syndrome::instrument
