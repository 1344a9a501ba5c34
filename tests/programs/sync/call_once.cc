// verdict: clean
// blocks: look_up
// output: made 1, sum 2000
// std::call_once inside of the block: those who come later see what the first one made, without a
// lock of their own.
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

static std::once_flag once;
static std::vector<int> table;
static int made = 0;

static int look_up(std::size_t i) {
  std::call_once(once, [] {
    ++made;
    table.assign(100, 5);
  });
  return table[i];
}

int main() {
  std::vector<std::thread> threads;
  std::vector<int> sums(4);
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([t, &sums] {
      int sum = 0;
      for (std::size_t i = 0; i < 100; ++i) sum += look_up(i);
      sums[t] = sum;
    });
  }
  for (auto& thread : threads) thread.join();
  std::printf("made %d, sum %d\n", made, sums[0] + sums[1] + sums[2] + sums[3]);
}
