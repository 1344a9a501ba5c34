// The rings of this process, in its file N.rings.
//
// A ring stays mapped when its thread has ended: the next thread takes it as it is, with no system
// call. A new one is mapped at the end of the file; where the file cannot be opened any more (the
// program has changed its root or its user, has no descriptor left, forbids itself to open) the
// mapping of the last ring is continued: mremap with an old size of 0 makes a second mapping of
// shared memory, and the file has been extended, without blocks, far beyond what is used. Room for
// it is then reserved by touching it in the kernel (MADV_POPULATE_WRITE), which fails where we
// would die of a SIGBUS.
//
// State, and who may touch it:
//   rings, extended     under rings_lock

#include <sys/mman.h>

#include "event/known.h"
#include "runtime/filter.h"
#include "runtime/follow.h"
#include "runtime/live.h"
#include "runtime/session_files.h"
#include "runtime/thread.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace syndrome::rt {
namespace {

std::atomic<std::uint32_t> rings_lock{0};

/// Threads that are alive together; more than the kernel lets a process have by default.
constexpr std::uint32_t kMaxRings = 65536;
RingHeader* rings[kMaxRings];
bool extended = false;

/// Without blocks: what is beyond the rings that exist costs nothing.
constexpr long kFileBytes = 4l << 30;

/// A ring and the first page of what comes after it, where the next mapping can begin.
std::size_t bytes_of_ring() {
  return ring_bytes(process.ring_words, process.session->flight != 0);
}
std::size_t mapped_bytes() {
  return bytes_of_ring() + kPage;
}

/// The one whose last thread the new one comes behind, if there is one: what others know of the new
/// one is then all of what they know of the slot (sieve::Thread::speaks_for_slot). If there is
/// none, `any` other one.
RingHeader* free_ring(std::uint32_t count, std::uint32_t number, bool any) {
  RingHeader* found = nullptr;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (rings[i]->state.load(std::memory_order_acquire) != RingState::kFree) continue;
    if (!process.follows || comes_behind_slot(number, i)) return rings[i];
    if (found == nullptr) found = rings[i];
  }
  return any ? found : nullptr;
}

RingHeader* map_new(long offset) {
  const int fd = sys::open(path_of("rings", true).text, O_RDWR | kOpenFlags);
  if (fd < 0) return nullptr;
  void* mapped = nullptr;
  // Reserved, not just extended: a full disk is an error here, and not a SIGBUS at the first touch.
  const auto bytes = static_cast<long>(bytes_of_ring());
  if (sys::call(SYS_fallocate, fd, 0, offset, bytes) >= 0) {
    mapped = sys::map(mapped_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
  }
  sys::close(fd);
  return static_cast<RingHeader*>(mapped);
}

/// The ring behind `last` in the file.
RingHeader* map_behind(RingHeader* last) {
  const std::size_t bytes = bytes_of_ring();
  void* const mapped = sys::map_again(reinterpret_cast<char*>(last) + bytes, mapped_bytes());
  if (mapped == nullptr) return nullptr;
  if (sys::call(SYS_madvise, sys::address_of(mapped), static_cast<long>(bytes),
                MADV_POPULATE_WRITE) < 0) {
    sys::unmap(mapped, mapped_bytes());
    return nullptr;
  }
  return static_cast<RingHeader*>(mapped);
}

RingHeader* new_ring(std::uint32_t count) {
  if (count == kMaxRings) return nullptr;
  const auto offset = static_cast<long>(count * bytes_of_ring());
  RingHeader* const mapped = map_new(offset);
  if (mapped != nullptr || count == 0 || !extended ||
      offset + static_cast<long>(mapped_bytes()) > kFileBytes) {
    return mapped;
  }
  return map_behind(rings[count - 1]);
}

/// No room for another one: the recorder is about to empty those of threads that have ended.
RingHeader* wait_for_ring(std::uint32_t count, std::uint32_t number) {
  const auto finished = [count] {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (rings[i]->state.load(std::memory_order_acquire) == RingState::kFinished) return true;
    }
    return false;
  };
  // Two seconds: long for a recorder that lives, and bearable with one that does not.
  for (int i = 0; i < 2000; ++i) {
    if (RingHeader* const ring = free_ring(count, number, true); ring != nullptr) return ring;
    if (!finished() || process.session->stop.load(std::memory_order_relaxed) != 0) break;
    const timespec pause{0, 1'000'000};
    sys::call(SYS_nanosleep, sys::address_of(&pause), 0);
  }
  return nullptr;
}

}  // namespace

bool make_rings_file() {
  const WithoutSizeSignal without_size_signal;
  const int fd = sys::open(path_of("rings", true).text, O_RDWR | O_CREAT | kOpenFlags, 0600);
  if (fd < 0) return false;
  extended = sys::call(SYS_ftruncate, fd, kFileBytes) >= 0;
  sys::close(fd);
  return true;
}

/// In flight: one whose thread has ended, for the words of another one behind its own.
RingHeader* ended_ring(std::uint32_t count) {
  Mode mode = process.session->slots[process.slot].mode.load(std::memory_order_relaxed);
  if (mode == Mode::kRecord) return nullptr;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (rings[i]->state.load(std::memory_order_acquire) != RingState::kFinished) continue;
    return go_round() ? rings[i] : nullptr;
  }
  return nullptr;
}

void forget_rings() {
  rings_lock.store(0, std::memory_order_relaxed);
  // But for the one that this thread had: a signal handler that forked returns into a probe.
  for (RingHeader*& ring : rings) {
    if (ring == nullptr) break;
    if (ring != tls.ring) sys::unmap(ring, mapped_bytes());
    ring = nullptr;
  }
}

bool claim_ring(std::uint32_t number) {
  const Lock lock(rings_lock);
  const WithoutSizeSignal without_size_signal;
  ProcessSlot& slot = process.session->slots[process.slot];
  const std::uint32_t count = slot.rings.load(std::memory_order_relaxed);
  // One that the recorder has emptied after its thread ended, or a new one.
  const bool any = slot.free.load(std::memory_order_acquire) != 0;
  RingHeader* ring = any ? free_ring(count, number, count >= sieve::kKnown) : nullptr;
  bool reused = ring != nullptr;
  RingHeader* const ended = ring == nullptr ? ended_ring(count) : nullptr;
  if (ended != nullptr) ring = ended;
  if (ring == nullptr) ring = new_ring(count);
  if (ring == nullptr) {
    ring = wait_for_ring(count, number);
    reused = ring != nullptr;
  }
  if (ring == nullptr) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
      complain("no room for the buffer of another thread; it is not recorded: ",
               path_of("rings", true).text);
    }
    return false;
  }
  ring->thread = number;
  ring->state.store(RingState::kActive, std::memory_order_release);
  if (ended != nullptr) {
    // It counts already.
  } else if (reused) {
    slot.free.fetch_sub(1, std::memory_order_relaxed);
  } else {
    rings[count] = ring;
    slot.rings.store(count + 1, std::memory_order_release);
  }
  tls.ring = ring;
  tls.words = reinterpret_cast<wire::Word*>(reinterpret_cast<char*>(ring) + kPage);
  tls.line = 0;
  tls.limit = process.ring_words;
  tls.flight = nullptr;
  tls.exact = nullptr;
  tls.follower = nullptr;
  tls.draft = nullptr;
  begin_flight(ended != nullptr);
  wire::Word* const line = tls.words + (tls.line & (process.ring_words - 1));
  line[0] = wire::time(read_counter());
  tls.taken = line + 1;
  if (process.pinned) {
    tls.exact = line + 1;
    __syndrome_thread.cursor = scratch + wire::kLineWords - 1;
  } else {
    __syndrome_thread.cursor = line + 1;
    __syndrome_thread.filter = nullptr;
    std::uint32_t index = 0;
    while (rings[index] != ring) ++index;
    // Whoever has no follower tells everything.
    if (process.follows && start_following(index)) start_filter();
  }
  return true;
}

void release_ring() {
  tls.ring = nullptr;
  tls.words = nullptr;
}

}  // namespace syndrome::rt
