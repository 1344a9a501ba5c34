// verdict: clean
// blocks: add
// output: 42
// Functions without probes hand over by std::atomic, whose own functions have them: what they do
// stays theirs, also where the compiler would put it into the caller.
#include <syndrome/syndrome.h>

#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<bool> ready{false};
static int data = 0;

SYNDROME_NO_PROBES static void publish() {
  ready.store(true, std::memory_order_release);
}

SYNDROME_NO_PROBES static bool is_published() {
  return ready.load(std::memory_order_acquire);
}

static void add(int by) {
  data = data + by;
}

int main() {
  std::thread thread([] {
    while (!is_published()) {
    }
    add(1);
  });
  add(41);
  publish();
  thread.join();
  std::printf("%d\n", data);
}
