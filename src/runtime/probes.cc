#include "runtime/probes.h"

#include <cstring>

#include "runtime/filter.h"
#include "runtime/follow.h"
#include "runtime/live.h"
#include "runtime/noise.h"
#include "runtime/shards.h"
#include "runtime/thread.h"

#define PROBE extern "C" __attribute__((visibility("default")))

namespace {

using namespace syndrome;
using namespace syndrome::rt;

[[nodiscard]] std::uintptr_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

void record(wire::Sync kind, const void* object) {
  if (recording()) rt::sync(kind, number_of(object));
}

/// Whether nothing has happened in the thread since its last atomic load.
[[nodiscard]] bool nothing_since_load() {
  return following() ? loads_again() : tls.last_load == cursor();
}

/// Labels are string literals: their addresses stand for them. A collision costs another string.
std::uint32_t label_number(const char* label) {
  struct Entry {
    std::atomic<const char*> label;
    std::atomic<std::uint32_t> process;  // 1 + slot: numbers are given for each process anew
    std::atomic<std::uint32_t> number;
  };
  static Entry entries[1024];
  Entry& entry = entries[(number_of(label) * 0x9E3779B97F4A7C15u) >> 54];
  const std::uint32_t number = entry.number.load(std::memory_order_acquire);
  if (entry.label.load(std::memory_order_relaxed) == label &&
      entry.process.load(std::memory_order_relaxed) == process.slot + 1 &&
      entry.number.load(std::memory_order_relaxed) == number) {
    return number;
  }
  const std::uint32_t fresh = intern(label);
  const char* none = nullptr;
  if (entry.label.compare_exchange_strong(none, label, std::memory_order_relaxed)) {
    entry.number.store(fresh, std::memory_order_release);
    entry.process.store(process.slot + 1, std::memory_order_release);
  }
  return fresh;
}

}  // namespace

PROBE void __syndrome_atomic_begin(const void* address) {
  tls.held = 0;
  if (!recording()) return;
  const Step step;
  if (step.is_over()) return;
  release_exact();
  noise();
  // What the thread did before must be seen before the atomic is.
  settle_atomic();
  const std::size_t shard = wire::shard_of(wire::Sync::kAtomicLoad, number_of(address));
  // Held already: a signal handler came between begin and end of the same shard.
  tls.held = lock_shard(shard) ? static_cast<std::uint32_t>(shard + 1) : ~0u;
}

PROBE void __syndrome_atomic_end(const void* address, std::uint32_t site, std::uint32_t what) {
  std::uint32_t held = tls.held;
  if (held == 0) return;
  const auto kind = static_cast<wire::Sync>(what & 0xff);
  const std::size_t shard = wire::shard_of(wire::Sync::kAtomicLoad, number_of(address));
  if (is_over()) {
    // Others wait for it.
    if (held != ~0u) unlock_shard(shard);
    tls.held = 0;
    if (!wait_for_settler()) return;
    tls.held = held = lock_shard(shard) ? static_cast<std::uint32_t>(shard + 1) : ~0u;
  }
  const Step step;
  if (step.is_over()) return;
  // A loop that waits for a change reads the same again and again: once is enough when nothing has
  // happened in this thread or to this shard since.
  const bool same = kind == wire::Sync::kAtomicLoad && nothing_since_load() &&
                    tls.last_load_address == number_of(address) && tls.last_load_what == what &&
                    tls.last_load_version == shards[shard].version.load(std::memory_order_relaxed);
  if (!same && following() && atomic_quietly(kind, number_of(address), what, site)) {
    if (held != ~0u) unlock_shard(shard);
    tls.held = 0;
    return noise();
  }
  // It may tell of locks, with versions: they come before this one's.
  if (!same && following()) order_by_atomic(kind, number_of(address), what, site);
  // Once its shard is free others may come behind it, which a window must not show without it.
  RingHeader* const ring = in_flight() && !same ? tls.ring : nullptr;
  if (ring != nullptr) {
    hear_sync(kind, number_of(address), what >> 8);
    ring->pending.store(read_counter(), std::memory_order_relaxed);
  }
  const std::uint64_t version = same ? 0 : next_version(shard);
  const wire::Word time = read_counter();
  // In this order: who leaves a handler by longjmp in between gives back what is held.
  if (held != ~0u) unlock_shard(shard);
  tls.held = 0;
  if (same) {
    if (following()) loaded();
    return noise();
  }
  sync_at(kind, number_of(address), version, time, what >> 8, site);
  if (ring != nullptr) ring->pending.store(0, std::memory_order_release);
  tls.last_load = following() ? nullptr : cursor();
  if (following()) loaded();
  tls.last_load_address = number_of(address);
  tls.last_load_version = version;
  tls.last_load_what = what;
  noise();
}

PROBE void __syndrome_fence(std::uint32_t site, std::uint32_t order) {
  if (!recording()) return;
  release_exact();
  settle();
  hear_sync(wire::Sync::kFence, 0, order << 8);
  sync_at(wire::Sync::kFence, 0, next_version(wire::shard_of(wire::Sync::kFence, 0)),
          read_counter(), order << 8, site);
}

PROBE void* __syndrome_memcpy(void* to, const void* from, std::size_t bytes,
                              std::uint32_t read_site, std::uint32_t write_site) {
  if (recording()) {
    range_at(from, bytes, false, read_site);
    range_at(to, bytes, true, write_site);
  }
  const Inside inside;
  return std::memcpy(to, from, bytes);
}

PROBE void* __syndrome_memmove(void* to, const void* from, std::size_t bytes,
                               std::uint32_t read_site, std::uint32_t write_site) {
  if (recording()) {
    range_at(from, bytes, false, read_site);
    range_at(to, bytes, true, write_site);
  }
  const Inside inside;
  return std::memmove(to, from, bytes);
}

PROBE void* __syndrome_memset(void* to, int value, std::size_t bytes, std::uint32_t write_site) {
  if (recording()) range_at(to, bytes, true, write_site);
  const Inside inside;
  return std::memset(to, value, bytes);
}

PROBE void __syndrome_local(const void* address, std::uint64_t bytes) {
  if (!recording()) return;
  if (following() && !follow_locals(address, bytes)) return;
  wire::Word* const at = room(3);
  if (at == nullptr) return;
  at[0] = wire::control(wire::Control::kLocals, 0, 0);
  at[1] = wire::operand(number_of(address));
  at[2] = wire::operand(bytes);
  appended(3);
}

extern "C" {
__attribute__((visibility("default"))) std::uint32_t __syndrome_pinned = 0;
__attribute__((visibility("default"))) std::uint32_t __syndrome_follows = 0;
}

PROBE void __syndrome_run(const SyndromeRun* run, const void* const* first, std::uint64_t rounds,
                          std::uint32_t rest) {
  if (!recording()) return;
  if (following()) return follow_run(*run, first, rounds, rest);
  const unsigned sites = run->sites;
  const auto words = static_cast<unsigned>(wire::run_words(sites));
  for (std::uint64_t done = 0; rounds != 0 || rest != 0;) {
    const std::uint64_t now = rounds < wire::kMaxRounds ? rounds : wire::kMaxRounds;
    rounds -= now;
    wire::Word* at = room(words);
    if (at == nullptr) return;
    const std::uint32_t last = rounds == 0 ? rest : 0;
    *at++ = wire::run(now, sites, last);
    for (unsigned i = 0; i < sites; i += wire::kStridesInWord) {
      *at++ = run->strides[i / wire::kStridesInWord];
    }
    for (unsigned i = 0; i < sites; ++i) {
      const std::int64_t stride = wire::stride_of(run->strides[i / wire::kStridesInWord], i);
      const wire::Word address = number_of(first[i]) + done * static_cast<std::uint64_t>(stride);
      *at++ = run->tops[i] | (address & wire::kAddressMask);
    }
    appended(words);
    done += now;
    if (rounds == 0) return;
  }
}

PROBE void __syndrome_stretch(const SyndromeRun* run, const void* first, const void* next) {
  if (!recording()) return;
  const std::uint64_t rounds = rounds_of(*run, first, next);
  if (following()) return follow_stretch(*run, first, rounds);
  __syndrome_run(run, &first, rounds, 0);
}

PROBE void __syndrome_spots(const SyndromeRun* run, const void* first, std::uint64_t bits) {
  if (!recording()) return;
  if (following()) return follow_spots(*run, first, bits);
  each_stretch(*run, first, bits, [&](std::uintptr_t from, std::uint64_t rounds) {
    const void* const address = reinterpret_cast<const void*>(from);
    __syndrome_run(run, &address, rounds, 0);
  });
}

PROBE void __syndrome_mark(const void* address, std::uint64_t site, std::uint32_t /*what*/,
                           const void* /*function*/) {
  if (!recording()) return;
  if (following()) {
    if (site > 0xffff) {
      follow_word(wire::control(wire::Control::kWide, 0, static_cast<std::uint32_t>(site >> 16)));
    }
    return follow_word(wire::access(number_of(address), site & 0xffff));
  }
  if (site > 0xffff)
    append(wire::control(wire::Control::kWide, 0, static_cast<std::uint32_t>(site >> 16)));
  append(wire::access(number_of(address), site & 0xffff));
}
PROBE void __syndrome_mark_once(const void* address, std::uint64_t site, unsigned char* done,
                                const void* function) {
  if (*done != 0) return;
  *done = 1;
  __syndrome_mark(address, site, 0, function);
}

PROBE std::uint64_t __syndrome_frame() {
  if (!recording()) return 0;
  const std::uint64_t frame = ++tls.frames;
  if (following()) follow_frame(frame);
  append(wire::control(wire::Control::kFrame, frame << 4, 0));
  return frame;
}

PROBE void __syndrome_resume(std::uint64_t frame) {
  if (frame == 0) return;
  if (tls.handlers != 0 && frame <= tls.handlers_from) leave_handlers();
  if (!recording()) return;
  if (following()) follow_resume(frame);
  append(wire::control(wire::Control::kResume, frame << 4, 0));
  new_segment();
}

PROBE void __syndrome_barrier_arrive(const void* b) {
  record(wire::Sync::kBarrierArrive, b);
}
PROBE void __syndrome_barrier_leave(const void* b) {
  record(wire::Sync::kBarrierLeave, b);
}
PROBE void __syndrome_post(const void* semaphore) {
  record(wire::Sync::kPost, semaphore);
}
PROBE void __syndrome_wait(const void* semaphore) {
  record(wire::Sync::kWait, semaphore);
}
PROBE void __syndrome_happens_before(const void* o) {
  record(wire::Sync::kHappensBefore, o);
}
PROBE void __syndrome_happens_after(const void* o) {
  record(wire::Sync::kHappensAfter, o);
}

PROBE void __syndrome_locks_begin() {
  ++tls.deferring;
}
PROBE void __syndrome_locks_end() {
  if (tls.deferring == 0 || --tls.deferring != 0) return;
  const std::uint32_t count = tls.deferred;
  tls.deferred = 0;
  for (std::uint32_t i = 0; i < count && recording(); ++i) {
    rt::sync(tls.locks[i].kind, tls.locks[i].object);
  }
}

PROBE void __syndrome_block_begin(std::uint32_t kind, const char* label) {
  leave_flight();
  if (recording()) rt::sync(wire::Sync::kBlockBegin, label_number(label), kind);
}
PROBE void __syndrome_block_end(std::uint32_t kind, const char* label) {
  if (recording()) rt::sync(wire::Sync::kBlockEnd, label_number(label), kind);
}
