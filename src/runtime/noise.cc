#include "runtime/noise.h"

#include <time.h>

#include <atomic>

#include "runtime/sys.h"
#include "runtime/thread.h"

namespace syndrome::rt {

bool noise_on = false;

namespace {

constexpr unsigned kDoublings = 24;
std::uint64_t own_seed = 0;
constexpr unsigned kInDoubling = 2;
std::uint64_t changes[kDoublings][kInDoubling];
std::atomic<std::uint64_t> steps{0};
std::atomic<bool> threaded{false};  // there has been a second thread

std::uint64_t mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

/// The random number of a thread's point.
std::uint64_t draw(std::uint64_t point) {
  return mix(mix(own_seed ^ (std::uint64_t{tls.number} << 32)) ^ point);
}

void sleep_for(long nanoseconds) {
  const timespec pause{0, nanoseconds};
  sys::call(SYS_nanosleep, sys::address_of(&pause), 0);
}

/// Up to 1 ms: long enough for another thread to do what a unit of work does, also where that
/// thread must first be started. Short ones are as likely as long ones.
void sleep_a_while(std::uint64_t random) {
  constexpr unsigned kShortest = 14;  // 2^14 ns
  constexpr unsigned kSpread = 6;
  const unsigned exponent = kShortest + static_cast<unsigned>(random % kSpread);
  sleep_for(static_cast<long>(std::uint64_t{1} << exponent));
}

/// Who has gone to the end of the line waits here, by the rank at which it did: the first of them
/// goes on when nobody else moves. 0: a free place.
constexpr unsigned kPlaces = 64;
std::atomic<std::uint64_t> line[kPlaces];
std::atomic<std::uint64_t> ranks{0};

void go_last() {
  const std::uint64_t rank = ranks.fetch_add(1, std::memory_order_relaxed) + 1;
  std::atomic<std::uint64_t>* place = nullptr;
  for (std::atomic<std::uint64_t>& each : line) {
    std::uint64_t free = 0;
    if (!each.compare_exchange_strong(free, rank, std::memory_order_relaxed)) continue;
    place = &each;
    break;
  }
  if (place == nullptr) return;
  const auto is_first = [rank] {
    for (const std::atomic<std::uint64_t>& each : line) {
      const std::uint64_t other = each.load(std::memory_order_relaxed);
      if (other != 0 && other < rank) return false;
    }
    return true;
  };
  // They may never come to rest: 20 ms are enough for most that one of them has to do.
  constexpr int kRounds = 40;
  constexpr long kRound = 500'000;
  std::uint64_t before = steps.load(std::memory_order_relaxed);
  for (int i = 0; i < kRounds; ++i) {
    sleep_for(kRound);
    const std::uint64_t now = steps.load(std::memory_order_relaxed);
    if (now == before && is_first()) break;
    before = now;
  }
  place->store(0, std::memory_order_relaxed);
  steps.fetch_add(1, std::memory_order_relaxed);
}

bool is_change(std::uint64_t step) {
  const unsigned doubling = 63 - static_cast<unsigned>(__builtin_clzll(step));
  if (doubling >= kDoublings) return false;
  for (const std::uint64_t change : changes[doubling]) {
    if (step == change) return true;
  }
  return false;
}

}  // namespace

void noise_start(std::uint64_t seed) {
  own_seed = seed;
  steps.store(0, std::memory_order_relaxed);
  for (unsigned i = 0; i < kDoublings; ++i) {
    const std::uint64_t first = std::uint64_t{1} << i;
    for (unsigned k = 0; k < kInDoubling; ++k) {
      changes[i][k] = first + mix(mix(seed) ^ (i * kInDoubling + k + 1)) % first;
    }
  }
  noise_on = true;
}

void make_noise() {
  if (!threaded.load(std::memory_order_relaxed)) return;
  if (tls.state != ThreadState::kOn || tls.busy != 0) return;
  const std::uint64_t step = steps.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::uint64_t point = ++tls.noise;
  if (is_change(step)) return go_last();
  // Often at first, for what runs briefly; what runs long gets there with fewer of them.
  const unsigned seldom = point < 64 ? 4 : point < 1024 ? 6 : point < 65536 ? 8 : 12;
  const std::uint64_t random = draw(point);
  if ((random & ((std::uint64_t{1} << seldom) - 1)) != 0) return;
  if (((random >> 16) & 3) == 0) return sys::yield();
  sleep_a_while(random >> 18);
}

void make_noise_at_begin() {
  const std::uint64_t random = draw(0);
  if ((random & 1) != 0) sleep_a_while(random >> 1);
}

void make_noise_at_fork() {
  threaded.store(true, std::memory_order_relaxed);
  if (tls.state != ThreadState::kOn || tls.busy != 0) return;
  if ((draw(++tls.noise) & 1) != 0) return go_last();
  make_noise();
}

}  // namespace syndrome::rt
