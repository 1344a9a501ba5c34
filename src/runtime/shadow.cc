#include "runtime/shadow.h"

#include <sys/mman.h>

#include "event/wire.h"
#include "runtime/follow_quiet.h"
#include "runtime/follower.h"
#include "runtime/sys.h"

namespace syndrome::rt {

Chunk** chunks = nullptr;

namespace {

constexpr std::size_t kChunks = std::size_t{1} << (wire::kAddressBits - kChunkBits);
constexpr std::uint32_t kMostNodes = 1u << 26;
constexpr std::size_t kClocks = std::size_t{1} << 12;

sieve::Node* nodes = nullptr;
std::atomic<std::uint32_t> node_count{1};
SyncClock* clocks = nullptr;

void* map(std::size_t bytes) {
  return sys::map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                  0);
}

/// Zeroes again, and no memory.
void empty(void* mapped, std::size_t bytes) {
  sys::call(SYS_madvise, sys::address_of(mapped), static_cast<long>(bytes), MADV_DONTNEED);
}

[[nodiscard]] SyncClock& clock_of(sieve::Word object) {
  return clocks[(object * 0x9E3779B97F4A7C15u) >> (64 - 12)];
}

/// Before it has the lock, the thread notes that it may have: a handler may never return here.
void lock(SyncClock& clock) {
  if (tls.follower != nullptr) tls.follower->clock = &clock;
  for (std::uint32_t nobody = 0;
       !clock.lock.compare_exchange_weak(nobody, tls.tid, std::memory_order_acquire); nobody = 0) {
    sys::yield();
  }
}

}  // namespace

bool make_shadow() {
  if (clocks != nullptr) {
    // In a forked child: nothing of the parent's accesses is of its trace.
    for (std::size_t i = 0; i < kChunks; ++i) {
      if ((i * sizeof(Chunk*)) % 4096 == 0) {
        // Most pages of the table were never touched: do not.
        unsigned char there = 0;
        if (sys::call(SYS_mincore, sys::address_of(static_cast<void*>(&chunks[i])), 4096,
                      sys::address_of(&there)) < 0 ||
            (there & 1) == 0) {
          i += 4096 / sizeof(Chunk*) - 1;
          continue;
        }
      }
      if (chunks[i] != nullptr) sys::unmap(chunks[i], sizeof(Chunk));
    }
    empty(static_cast<void*>(chunks), kChunks * sizeof(Chunk*));
    empty(nodes, kMostNodes * sizeof(sieve::Node));
    empty(clocks, kClocks * sizeof(SyncClock));
    node_count.store(1, std::memory_order_relaxed);
    return true;
  }
  chunks = static_cast<Chunk**>(map(kChunks * sizeof(Chunk*)));
  nodes = static_cast<sieve::Node*>(map(kMostNodes * sizeof(sieve::Node)));
  if (chunks == nullptr || nodes == nullptr) return false;
  clocks = static_cast<SyncClock*>(map(kClocks * sizeof(SyncClock)));
  return clocks != nullptr;
}

Chunk* make_chunk(std::size_t index) {
  auto* const made = static_cast<Chunk*>(map(sizeof(Chunk)));
  if (made == nullptr) return nullptr;
  Chunk* there = nullptr;
  if (__atomic_compare_exchange_n(&chunks[index], &there, made, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return made;
  }
  sys::unmap(made, sizeof(Chunk));
  return there;
}

void lock_cell(sieve::Cell& cell) {
  // Who has been gone for so long has been killed, or left by longjmp: it is taken from them.
  constexpr int kTries = 20'000;
  for (int i = 0;; ++i) {
    const sieve::Word old = __atomic_load_n(&cell.a, __ATOMIC_RELAXED);
    sieve::Word expected = i < kTries ? old & ~sieve::Entry::kLock : old;
    if (old == expected &&
        __atomic_compare_exchange_n(&cell.a, &expected, old | sieve::Entry::kLock, false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      return;
    }
    if (i < 64) {
      __builtin_ia32_pause();
    } else {
      sys::yield();
    }
  }
}

sieve::Node& node_at(std::uint32_t number) {
  return nodes[number];
}

std::uint32_t more_nodes(std::uint32_t count) {
  std::uint32_t first = node_count.load(std::memory_order_relaxed);
  do {
    if (first + count > kMostNodes) return 0;
  } while (!node_count.compare_exchange_weak(first, first + count, std::memory_order_relaxed));
  return first;
}

SyncClock& lock_place(sieve::Word object) {
  SyncClock& clock = clock_of(object);
  lock(clock);
  return clock;
}

SyncClock& lock_clock(sieve::Word object, bool in_memory) {
  SyncClock& clock = lock_place(object);
  if (clock.object != object) {
    tell_evicted(clock);
    clock.object = object;
    clock.last = {};
    clock.rounds = {};
    clock.signals = {};
    clock.atomic = {};
    clock.atomic_bytes = 0;
    ++clock.life;
    // So that it is forgotten when the memory is used anew.
    if (sieve::Cell* const cell = in_memory ? cell_at(object) : nullptr; cell != nullptr) {
      soil(object);
      __atomic_fetch_or(&cell->b, sieve::Entry::kSync, __ATOMIC_RELAXED);
    }
  }
  return clock;
}

void forget_clock(sieve::Word object) {
  SyncClock& clock = clock_of(object);
  if (clock.object != object) return;
  lock(clock);
  if (clock.object == object) {
    clock.object = 0;
    clock.last = {};
  }
  unlock_clock(clock);
  if (tls.follower != nullptr) tls.follower->clock = nullptr;
}

}  // namespace syndrome::rt
