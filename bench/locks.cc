// What a lock of a hardened program costs when nobody else wants it, beside a mutex: `make bench`.

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

extern "C" {
void __syndrome_lock_read(std::uint32_t number, void* frame);
void __syndrome_lock_exclusive(std::uint32_t number, void* frame);
void __syndrome_lock_release(std::uint32_t number, void* frame);
}

namespace {

/// Nanoseconds for one call, the best of many rounds that are too short to be disturbed in each:
/// what else runs only makes them longer.
template <typename Action>
double nanoseconds(Action action) {
  constexpr int kCalls = 2'000;
  double best = 1e9;
  for (int round = 0; round < 2'000; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) action();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count() / kCalls);
  }
  return best;
}

}  // namespace

int main() {
  char frames[2] = {};
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const auto show = [](const char* what, double time) {
    fmt::print("{:<48}{:6.1f} ns\n", what, time);
  };
  show("lock of a plan, exclusive: acquire and release", nanoseconds([&] {
         __syndrome_lock_exclusive(0, &frames[1]);
         __syndrome_lock_release(0, &frames[1]);
       }));
  show("lock of a plan, read: acquire and release", nanoseconds([&] {
         __syndrome_lock_read(1, &frames[1]);
         __syndrome_lock_release(1, &frames[1]);
       }));
  __syndrome_lock_exclusive(2, &frames[1]);
  show("the same in a function that has it from its caller", nanoseconds([&] {
         __syndrome_lock_exclusive(2, &frames[0]);
         __syndrome_lock_release(2, &frames[0]);
       }));
  __syndrome_lock_release(2, &frames[1]);
  show("pthread_mutex_lock and unlock", nanoseconds([&] {
         pthread_mutex_lock(&mutex);
         pthread_mutex_unlock(&mutex);
       }));
  return 0;
}
