// verdict: clean
// blocks: Shelf::put_both
// output: 800
// Only the outermost unlock of a recursive mutex lets others in.
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

class Shelf {
 public:
  void put() {
    const std::lock_guard guard(mutex_);
    ++items_;
  }
  void put_both() {
    const std::lock_guard guard(mutex_);
    put();
    put();
  }
  int items() {
    const std::lock_guard guard(mutex_);
    return items_;
  }

 private:
  std::recursive_mutex mutex_;
  int items_ = 0;
};

int main() {
  Shelf shelf;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&shelf] {
      for (int round = 0; round < 100; ++round) shelf.put_both();
    });
  }
  for (auto& thread : threads) thread.join();
  std::printf("%d\n", shelf.items());
}
