#include "runtime/shards.h"

#include <time.h>

#include "runtime/noise.h"
#include "runtime/sys.h"
#include "runtime/text.h"
#include "runtime/thread.h"

namespace syndrome::rt {

Shard shards[wire::kShards];

namespace {

/// Processor time of a thread of this process, or -1 when there is no such thread.
std::int64_t processor_time(std::uint32_t tid) {
  // The kernel's name for the clock of one thread: CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED.
  const long clock = static_cast<long>((~static_cast<std::uint64_t>(tid) << 3) | 6);
  timespec time{};
  if (sys::call(SYS_clock_gettime, static_cast<int>(clock), sys::address_of(&time)) < 0) return -1;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Whether a thread sleeps in a system call. Between a probe and its access there is none.
bool sleeps(std::uint32_t tid) {
  char path[64];
  append_text(append_number(append_text(path, "/proc/self/task/"), tid), "/stat");
  const int fd = sys::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  char text[512];
  const long bytes = sys::read(fd, text, sizeof(text) - 1);
  sys::close(fd);
  for (long i = bytes - 3; i > 0; --i) {
    if (text[i] == ')') return text[i + 2] == 'S' || text[i + 2] == 'T' || text[i + 2] == 't';
  }
  return false;
}

constexpr std::int64_t kPatience = 1'000'000;  // ns of the holder's processor time

void lock_slowly(Shard& shard, std::uint32_t self) {
  std::uint32_t watched = 0;
  std::int64_t since = 0;
  for (unsigned round = 0;; ++round) {
    std::uint32_t owner = shard.owner.load(std::memory_order_relaxed);
    if (owner == 0) {
      if (shard.owner.compare_exchange_weak(owner, self, std::memory_order_acquire)) return;
      continue;
    }
    if (round < 64) {
      __builtin_ia32_pause();
      continue;
    }
    sys::yield();
    if (round % 64 != 0) continue;
    const std::int64_t now = processor_time(owner);
    if (owner != watched) {
      watched = owner;
      since = now;
      continue;
    }
    if (now < 0 || now - since > kPatience || sleeps(owner)) {
      if (shard.owner.compare_exchange_strong(owner, self, std::memory_order_acquire)) return;
    }
  }
}

}  // namespace

bool lock_shard(std::size_t index) {
  Shard& shard = shards[index];
  std::uint32_t owner = 0;
  if (shard.owner.compare_exchange_strong(owner, tls.tid, std::memory_order_acquire)) return true;
  if (owner == tls.tid) return false;
  lock_slowly(shard, tls.tid);
  return true;
}

void unlock_shard(std::size_t index) {
  // Someone may have taken it away meanwhile.
  std::uint32_t self = tls.tid;
  shards[index].owner.compare_exchange_strong(self, 0, std::memory_order_release);
}

void reset_shards() {
  for (Shard& shard : shards) {
    shard.owner.store(0, std::memory_order_relaxed);
    shard.version.store(0, std::memory_order_relaxed);
  }
}

void release_exact_slow() {
  unlock_shard(tls.held_exact - 1);
  tls.held_exact = 0;
}

void exact_probe(wire::Word word) {
  __syndrome_thread.cursor = scratch + wire::kLineWords - 1;
  release_exact();
  if (wire::is_control(word)) {
    append(word);
    return;
  }
  if (noise_on) make_noise();
  if (!process.exact) {
    wire::Word* const at = room(2);
    if (at == nullptr) return;
    at[0] = wire::time(read_counter());
    at[1] = word;
    appended(2);
    return;
  }
  const wire::Word address = wire::address_of(word);
  const std::size_t shard = wire::shard_of(wire::Sync::kOrdered, address);
  wire::Word* const at = room(5);
  if (at == nullptr) return;
  const bool locked = lock_shard(shard);
  at[0] = wire::sync(wire::Sync::kOrdered, 3, 0);
  at[1] = wire::operand(address);
  at[2] = wire::operand(next_version(shard));
  at[3] = wire::operand(read_counter());
  at[4] = word;
  appended(5);
  if (locked) tls.held_exact = static_cast<std::uint32_t>(shard + 1);
}

}  // namespace syndrome::rt
