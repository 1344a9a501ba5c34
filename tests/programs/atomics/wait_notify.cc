// verdict: clean
// blocks: fill, drain
// output: 300
// atomic::wait and notify are a futex behind inlined atomics; they hand a buffer back and forth.
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<int> state{0};
static int buffer[3];

static void fill(int round) {
  for (int& cell : buffer) cell = round;
}

static bool drain(int round) {
  bool good = true;
  for (int& cell : buffer) {
    good = good && cell == round;
    cell = -1;
  }
  return good;
}

int main() {
  std::thread filler([] {
    for (int round = 0; round < 300; ++round) {
      state.wait(1, std::memory_order_acquire);
      fill(round);
      state.store(1, std::memory_order_release);
      state.notify_one();
    }
  });
  int good = 0;
  for (int round = 0; round < 300; ++round) {
    state.wait(0, std::memory_order_acquire);
    good += drain(round) ? 1 : 0;
    state.store(0, std::memory_order_release);
    state.notify_one();
  }
  filler.join();
  std::printf("%d\n", good);
}
