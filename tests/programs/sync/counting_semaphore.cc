// verdict: clean
// blocks: fill, drain
// output: 500
// A buffer handed back and forth by two std::binary_semaphores, which are atomics and futexes.
#include <cstdio>
#include <semaphore>
#include <thread>

static std::binary_semaphore empty(1);
static std::counting_semaphore<4> full(0);
static int buffer[4];

static void fill(int round) {
  for (int& cell : buffer) cell = round;
}

static bool drain(int round) {
  bool good = true;
  for (int& cell : buffer) {
    good = good && cell == round;
    cell = 0;
  }
  return good;
}

int main() {
  std::thread filler([] {
    for (int round = 0; round < 500; ++round) {
      empty.acquire();
      fill(round);
      full.release();
    }
  });
  int good = 0;
  for (int round = 0; round < 500; ++round) {
    full.acquire();
    good += drain(round) ? 1 : 0;
    empty.release();
  }
  filler.join();
  std::printf("%d\n", good);
}
