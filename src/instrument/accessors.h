// Accessors: functions that only compute and read, like operator[] of a vector or
// `double& at(row, column)`, and those of the library's headers that are as simple.
//
// They are put into their callers before probes are placed: as functions they are of no interest
// (without synchronization and writes a call of one is over before anything can come in between
// that is not a race), and a frame for each would be most of what an array program records. Their
// accesses stay, with their own places in the source.
//
// Forwarders: small functions of the library's headers that do no more than hand on, as those from
// std::lock_guard's constructor to pthread_mutex_lock. Their frames are four fifths of what a
// locked section would record, and what they keep in the guard is then seen to be nobody else's.

#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Module.h>

namespace syndrome::instrument {

/// Inlines every call of an accessor or forwarder, except in and of functions that are not
/// optimized (-O0). `kept` are functions that are blocks by annotation, or get no probes.
void inline_accessors(llvm::Module& module, const llvm::SmallPtrSetImpl<llvm::Function*>& kept);

}  // namespace syndrome::instrument
