// verdict: clean
// blocks: fill, drain
// output: 1999000
// A bounded queue for many producers and consumers: each cell carries a ticket that says whose turn
// it is, and that ticket alone orders the plain contents.
#include <array>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

constexpr std::size_t kCells = 8;
struct Cell {
  std::atomic<std::size_t> turn{0};
  long value = 0, copy = 0;
};
static std::array<Cell, kCells> cells;
static std::atomic<std::size_t> head{0}, tail{0};

static void fill(Cell& cell, long value) {
  cell.value = value;
  cell.copy = cell.value;
}

static long drain(Cell& cell) {
  const long value = cell.value == cell.copy ? cell.value : -1'000'000;
  cell.value = cell.copy = 0;
  return value;
}

static void put(long value) {
  const std::size_t ticket = tail.fetch_add(1, std::memory_order_relaxed);
  Cell& cell = cells[ticket % kCells];
  while (cell.turn.load(std::memory_order_acquire) != ticket) std::this_thread::yield();
  fill(cell, value);
  cell.turn.store(ticket + 1, std::memory_order_release);
}

static long get() {
  const std::size_t ticket = head.fetch_add(1, std::memory_order_relaxed);
  Cell& cell = cells[ticket % kCells];
  while (cell.turn.load(std::memory_order_acquire) != ticket + 1) std::this_thread::yield();
  const long value = drain(cell);
  cell.turn.store(ticket + kCells, std::memory_order_release);
  return value;
}

int main() {
  for (std::size_t i = 0; i < kCells; ++i) cells[i].turn.store(i, std::memory_order_relaxed);
  std::vector<std::thread> threads;
  std::array<long, 2> sums{};
  for (long t = 0; t < 2; ++t) {
    threads.emplace_back([t] {
      for (long i = 0; i < 1000; ++i) put(t * 1000 + i);
    });
    threads.emplace_back([t, &sums] {
      long sum = 0;
      for (long i = 0; i < 1000; ++i) sum += get();
      sums[static_cast<std::size_t>(t)] = sum;
    });
  }
  for (auto& thread : threads) thread.join();
  std::printf("%ld\n", sums[0] + sums[1]);
}
