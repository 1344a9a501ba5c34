// verdict: clean
// races: found
// blocks: consume
// output: 42
// The flag is atomic but relaxed, so it tells that the data is there and orders nothing.
#include <atomic>
#include <cstdio>
#include <thread>

static int data;
static std::atomic<bool> ready{false};

__attribute__((noinline)) static int consume() {
  return data;
}

int main() {
  std::thread producer([] {
    data = 42;
    ready.store(true, std::memory_order_relaxed);
  });
  while (!ready.load(std::memory_order_relaxed)) std::this_thread::yield();
  const int seen = consume();
  producer.join();
  std::printf("%d\n", seen);
}
