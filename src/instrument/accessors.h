// Accessors: functions that only compute and read, like operator[] of a vector or
// `double& at(row, column)`, and those of the library's headers that are as simple.
//
// They are put into their callers before probes are placed: as functions they are of no interest
// (without synchronization and writes a call of one is over before anything can come in between
// that is not a race), and a frame for each would be most of what an array program records. Their
// accesses stay, with their own places in the source.
//
// Forwarders: functions of the standard library's headers that do no more than hand on, as those
// from std::lock_guard's constructor to pthread_mutex_lock, from push_back to the allocator, and
// std::find. What they do is their caller's by every definition that we have. Their frames are most
// of what a locked section or a container would record, and what they keep in a guard or an
// iterator is then seen to be nobody else's.

#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Module.h>

namespace syndrome::instrument {

/// Inlines every call of an accessor or forwarder, except in and of functions that are not
/// optimized (-O0). `kept` are functions that are blocks by annotation, or get no probes.
void inline_accessors(llvm::Module& module, const llvm::SmallPtrSetImpl<llvm::Function*>& kept);

}  // namespace syndrome::instrument
