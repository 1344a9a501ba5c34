#include "runtime/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <time.h>

#include "event/unit.h"
#include "runtime/follow.h"
#include "runtime/probes.h"
#include "runtime/session_files.h"
#include "runtime/sys.h"

namespace syndrome::rt {
namespace {

std::atomic<std::uint32_t> blocks_lock{0};
std::atomic<wire::Word> grown{0};  // what filters have beyond what they begin with
long blocks_read = 0;              // bytes of the answer; under blocks_lock

void ring_doorbell(SessionHeader& session) {
  session.doorbell.fetch_add(1, std::memory_order_seq_cst);
  if (session.sleeping.load(std::memory_order_seq_cst) != 0) {
    sys::call(SYS_futex, sys::address_of(&session.doorbell), FUTEX_WAKE, 1);
  }
}

/// False: nobody will answer.
bool wait_for_answer(const ProcessSlot& slot) {
  const std::uint32_t units = slot.units.load(std::memory_order_relaxed);
  SessionHeader& session = *process.session;
  // Two seconds: the checker may have to look at what other threads have done first.
  constexpr int kTries = 20'000;
  for (int i = 0; i < kTries; ++i) {
    if (slot.answered.load(std::memory_order_acquire) >= units) return true;
    if (session.stop.load(std::memory_order_relaxed) != 0) return false;
    if (i % 1000 == 999 && !process.foreign && sys::call(SYS_kill, session.recorder, 0) == -ESRCH) {
      return false;
    }
    ring_doorbell(session);
    const timespec pause{0, 100'000};
    sys::call(SYS_nanosleep, sys::address_of(&pause), 0);
  }
  return false;
}

bool read_answer() {
  const int fd = sys::open(path_of("blocks", true).text, O_RDONLY | kOpenFlags);
  if (fd < 0) return false;
  sys::call(SYS_lseek, fd, blocks_read, SEEK_SET);
  std::uint64_t addresses[64];
  long got = 0;
  while ((got = sys::read(fd, addresses, sizeof(addresses))) > 0) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(got) / sizeof(addresses[0]); ++i) {
      // The lowest bit: whether it is an atomic one.
      auto* const function = reinterpret_cast<unit::Function*>(addresses[i] & ~std::uint64_t{1});
      const bool atomic = (addresses[i] & 1) != 0;
      __atomic_fetch_or(&function->flags,
                        unit::kLiveBlock | (atomic ? std::uint32_t{unit::kLiveAtomic} : 0),
                        __ATOMIC_RELAXED);
    }
    blocks_read += got;
  }
  sys::close(fd);
  return true;
}

void set_follows(bool follows) {
  process.follows = follows;
  __atomic_store_n(&__syndrome_follows, follows ? 1u : 0u, __ATOMIC_RELAXED);
}

}  // namespace

void filter_grow(Follower& self) {
  // Of all threads together: beyond that they do with what they have.
  constexpr wire::Word kMost = wire::Word{128} << 20;
  const wire::Word more = 3 * self.filter.bytes();
  if (grown.fetch_add(more, std::memory_order_relaxed) + more <= kMost) return self.filter.grow();
  grown.fetch_sub(more, std::memory_order_relaxed);
  self.filter.lost = 0;
}

void make_filter() {
  set_follows(false);
  const sieve::Checked checked = process.session->checked;
  if (checked == sieve::Checked::kNothing || process.pinned) return;
  if (!make_followers()) return;
  set_follows(true);
  blocks_read = 0;
  grown.store(0, std::memory_order_relaxed);
  blocks_lock.store(0, std::memory_order_relaxed);
}

void learn_blocks() {
  if (!process.follows) return;
  ProcessSlot& slot = process.session->slots[process.slot];
  const Lock lock(blocks_lock);
  slot.units.fetch_add(1, std::memory_order_release);
  if (wait_for_answer(slot) && read_answer()) return;
  process.follows = false;
  __syndrome_thread.filter = nullptr;
}

}  // namespace syndrome::rt
