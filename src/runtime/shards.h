// The counters that order everything which is not ordered by a thread's program order
// (event/wire.h, "Order"), and the locks under which atomics are performed.
//
// A shard's lock is held for a few instructions by probes, so it spins. Its holder may be stopped
// by the scheduler in between: then waiters yield. With --order exact a shard stays held until the
// holder's next probe, because only then is the access over for certain; a waiter that finds the
// holder asleep, dead, or a millisecond of processor time further takes the shard away.

#pragma once

#include <atomic>
#include <cstdint>

#include "event/wire.h"

namespace syndrome::rt {

struct alignas(64) Shard {
  std::atomic<std::uint64_t> version;
  std::atomic<std::uint32_t> owner;  // tid; 0: free
};
extern Shard shards[wire::kShards];

[[nodiscard]] inline std::uint64_t next_version(std::size_t shard) {
  return shards[shard].version.fetch_add(1, std::memory_order_acq_rel) + 1;
}

/// False when the caller holds it already (a signal handler in the middle of an atomic).
bool lock_shard(std::size_t shard);
void unlock_shard(std::size_t shard);

/// In the child after fork, where no other thread can hold one.
void reset_shards();

/// With --order exact: appends `word`, ordered by its shard when it is an access.
void exact_probe(wire::Word word);

}  // namespace syndrome::rt
