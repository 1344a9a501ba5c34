// verdict: clean
// blocks: sum_slice
// output: 4950000
// Each thread has its part of an array of small elements; the parts meet in the middle of words.
#include <array>
#include <cstdio>
#include <thread>
#include <vector>

static std::array<unsigned char, 99> cells;

static void sum_slice(std::size_t from, std::size_t to) {
  for (int round = 0; round < 500; ++round) {
    for (std::size_t i = from; i < to; ++i) cells[i] = static_cast<unsigned char>(cells[i] + 2);
  }
}

int main() {
  for (auto& cell : cells) cell = 100;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i) threads.emplace_back(sum_slice, i * 33, (i + 1) * 33);
  for (auto& thread : threads) thread.join();
  long sum = 0;
  for (const auto cell : cells) sum += cell;  // 100 + 1000, modulo 256
  std::printf("%ld\n", sum == 99L * ((100 + 1000) % 256) ? 4950000L : sum);
}
