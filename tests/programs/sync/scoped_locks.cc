// verdict: clean
// blocks: Pair::move
// output: 0
// std::scoped_lock takes several locks by trying and letting go again: what it had meanwhile is no
// reason to complain.
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

class Pair {
 public:
  void move(int amount, bool forwards) {
    if (forwards) {
      const std::scoped_lock guard(first_, second_);
      left_ -= amount;
      right_ += amount;
    } else {
      const std::scoped_lock guard(second_, first_);
      left_ += amount;
      right_ -= amount;
    }
  }
  int sum() {
    const std::scoped_lock guard(first_, second_);
    return left_ + right_;
  }

 private:
  std::mutex first_, second_;
  int left_ = 0, right_ = 0;
};

int main() {
  Pair pair;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pair, t] {
      for (int i = 0; i < 500; ++i) pair.move(1, t % 2 == 0);
    });
  }
  for (auto& thread : threads) thread.join();
  std::printf("%d\n", pair.sum());
}
