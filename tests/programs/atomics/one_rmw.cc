// verdict: clean
// blocks: Stats::hit
// output: 4000 8000
// A block with one read-modify-write, or with several on data of its own, is atomic whatever the
// memory order.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

class Stats {
 public:
  int hit(int by) {
    int mine = by;
    mine += by;
    total_.fetch_add(mine, std::memory_order_relaxed);
    return mine;
  }
  int total() const { return total_.load(); }

 private:
  std::atomic<int> total_{0};
};

int main() {
  Stats stats;
  std::vector<std::thread> threads;
  int mine[4] = {};
  for (int& sum : mine) {
    threads.emplace_back([&stats, &sum] {
      for (int i = 0; i < 1000; ++i) sum += stats.hit(1);
    });
  }
  for (auto& thread : threads) thread.join();
  std::printf("%d %d\n", (mine[0] + mine[1] + mine[2] + mine[3]) / 2, stats.total());
}
