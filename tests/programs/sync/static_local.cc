// verdict: clean
// blocks: look_up
// output: made 1, sum 2000
// A static local is made by the first who comes. Its guard is read, waited for and written behind
// the program's back, all in the middle of the block.
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

static int made = 0;

static std::vector<int> make_table() {
  ++made;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return std::vector<int>(100, 5);
}

static int look_up(std::size_t i) {
  static const std::vector<int> table = make_table();
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
