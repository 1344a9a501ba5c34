// verdict: clean
// blocks: write_row, read_row
// output: 300
// std::atomic_ref makes a plain variable atomic for a while; 1, 2, 4 and 8 bytes.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>

static std::uint8_t to_reader = 0;
static std::uint64_t to_writer = 1;
static std::uint16_t row[5];

static void write_row(int round) {
  for (auto& cell : row) cell = static_cast<std::uint16_t>(round);
}

static bool read_row(int round) {
  for (const auto cell : row) {
    if (cell != round) return false;
  }
  return true;
}

int main() {
  std::thread writer([] {
    for (int round = 0; round < 300; ++round) {
      while (std::atomic_ref(to_writer).exchange(0, std::memory_order_acquire) == 0) {
        std::this_thread::yield();
      }
      write_row(round);
      std::atomic_ref(to_reader).store(1, std::memory_order_release);
    }
  });
  int good = 0;
  for (int round = 0; round < 300; ++round) {
    while (std::atomic_ref(to_reader).fetch_and(0, std::memory_order_acquire) == 0) {
      std::this_thread::yield();
    }
    good += read_row(round) ? 1 : 0;
    std::atomic_ref(to_writer).fetch_or(1, std::memory_order_release);
  }
  writer.join();
  std::printf("%d\n", good);
}
