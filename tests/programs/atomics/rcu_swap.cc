// verdict: clean
// blocks: Snapshot::sum, make_snapshot
// output: 0 torn
// Readers follow a pointer that a writer swaps for a fresh snapshot; old ones are freed only after
// every reader has said that it is between two reads, and their memory is used again.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

struct Snapshot {
  long parts[4] = {};
  long sum() const { return parts[0] + parts[1] + parts[2] + parts[3]; }
};
static std::atomic<Snapshot*> current{nullptr};
static std::atomic<unsigned> quiet[2] = {{0}, {0}};
static std::atomic<bool> stop{false};

static Snapshot* make_snapshot(long value) {
  auto* snapshot = new Snapshot;
  for (long& part : snapshot->parts) part = value;
  snapshot->parts[0] -= 4 * value;
  return snapshot;
}

static void wait_for_readers() {
  for (auto& counter : quiet) {
    const unsigned seen = counter.load(std::memory_order_acquire);
    while (counter.load(std::memory_order_acquire) == seen && !stop.load()) {
      std::this_thread::yield();
    }
  }
}

int main() {
  current.store(make_snapshot(0), std::memory_order_release);
  std::vector<std::thread> readers;
  int torn[2] = {0, 0};
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([r, &torn] {
      while (!stop.load(std::memory_order_acquire)) {
        if (current.load(std::memory_order_acquire)->sum() != 0) torn[r] = 1;
        quiet[r].fetch_add(1, std::memory_order_release);
      }
    });
  }
  for (long value = 1; value <= 50; ++value) {
    Snapshot* old = current.exchange(make_snapshot(value), std::memory_order_acq_rel);
    wait_for_readers();
    delete old;
  }
  stop.store(true, std::memory_order_release);
  for (auto& reader : readers) reader.join();
  delete current.load();
  std::printf("%d torn\n", torn[0] + torn[1]);
}
