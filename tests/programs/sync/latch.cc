// verdict: clean
// blocks: prepare, total
// output: 36
// Everyone counts a std::latch down after preparing a part; those who wait for it read all parts.
#include <array>
#include <cstdio>
#include <latch>
#include <thread>
#include <vector>

static std::array<int, 8> parts;

static void prepare(std::size_t i) {
  parts[i] = static_cast<int>(i);
  parts[i] += 1;
}

static int total() {
  int sum = 0;
  for (const int part : parts) sum += part;
  return sum;
}

int main() {
  std::latch ready(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 8; ++i) {
    threads.emplace_back([&ready, i] {
      prepare(i);
      ready.count_down();
    });
  }
  ready.wait();
  const int sum = total();
  for (auto& thread : threads) thread.join();
  std::printf("%d\n", sum);
}
