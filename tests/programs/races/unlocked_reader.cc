// verdict: clean
// races: found
// blocks: Stats::add, Stats::peek
// output: 3
// Writers hold the lock, one reader does not; its own block has one read, so it is atomic all the
// same.
#include <cstdio>
#include <mutex>
#include <thread>

class Stats {
 public:
  void add() {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++hits_;
  }
  int peek() const { return hits_; }

 private:
  std::mutex mutex_;
  int hits_ = 0;
};

int main() {
  Stats stats;
  std::thread writer([&stats] {
    stats.add();
    stats.add();
  });
  std::thread reader([&stats] { (void)stats.peek(); });
  writer.join();
  reader.join();
  stats.add();
  std::printf("%d\n", stats.peek());
}
