// verdict: clean
// blocks: make, read
// output: 42
// What the first thread wrote reaches the third through the second, which never looks at it:
// happens-before is transitive, over an atomic and then a mutex.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

static int payload[2];
static std::atomic<bool> first_done{false};
static std::mutex mutex;
static bool second_done = false;

static void make() {
  payload[0] = 40;
  payload[1] = 2;
}

static int read() {
  return payload[0] + payload[1];
}

int main() {
  int result = 0;
  std::thread third([&result] {
    while (true) {
      const std::lock_guard guard(mutex);
      if (second_done) break;
    }
    result = read();
  });
  std::thread second([] {
    while (!first_done.load(std::memory_order_acquire)) std::this_thread::yield();
    const std::lock_guard guard(mutex);
    second_done = true;
  });
  std::thread first([] {
    make();
    first_done.store(true, std::memory_order_release);
  });
  first.join();
  second.join();
  third.join();
  std::printf("%d\n", result);
}
