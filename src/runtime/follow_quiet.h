// Synchronization and memory that a thread need not tell of (event/quiet.h), when races are
// checked.
//
// State, and who may touch it:
//   Follower::quiet       its thread; others set QuietLocks::Held::wanted
//   Follower::sections    its thread writes; others read what may be half written, and see that
//   SyncClock::last       who holds the clock

#pragma once

#include <cstdint>

#include "event/wire.h"
#include "runtime/follower.h"

namespace syndrome::rt {

/// Before a lock's version is taken. Whether that was all: nobody has to hear of it. Otherwise, the
/// section of another thread that it follows has been told.
[[nodiscard]] bool sync_quietly(wire::Sync kind, std::uintptr_t object, std::uint32_t call);

/// Whether memory begins or ends that nothing was told of.
[[nodiscard]] bool renew_quietly(wire::Sync kind, std::uintptr_t object, wire::Word bytes);

/// The locks that the thread holds: before something is told.
void tell_held(Follower& self);

/// A clock that gets another object: what it says of its lock is told.
void tell_evicted(SyncClock& clock);

/// An access of this position was told late: so are the locks that its thread held.
void want_locks(std::uint32_t slot, Word position);

/// The last position up to `position` that the slot has told of, or a later one that `position`
/// will be known from.
[[nodiscard]] Word told_up_to(std::uint32_t slot, Word position);

}  // namespace syndrome::rt
