// verdict: clean
// blocks: Mailbox::fill, Mailbox::take_out
// output: 200
// std::condition_variable with wait, wait_for and wait_until; each wait gives up the lock and gets
// it back outside of the blocks.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

class Mailbox {
 public:
  void put(int letter) {
    std::unique_lock guard(mutex_);
    changed_.wait(guard, [this] { return letter_ == 0; });
    fill(letter);
    changed_.notify_all();
  }
  int get(int turn) {
    std::unique_lock guard(mutex_);
    const auto full = [this] { return letter_ != 0; };
    if (turn % 2 == 0) {
      while (!changed_.wait_for(guard, std::chrono::milliseconds(5), full)) continue;
    } else {
      const auto when = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      changed_.wait_until(guard, when, full);
    }
    const int letter = take_out();
    changed_.notify_one();
    return letter;
  }

 private:
  void fill(int letter) {
    letter_ = letter;
    copy_ = letter_;
  }
  int take_out() {
    const int letter = letter_ == copy_ ? letter_ : -1000;
    letter_ = copy_ = 0;
    return letter;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int letter_ = 0, copy_ = 0;
};

int main() {
  Mailbox box;
  std::thread sender([&box] {
    for (int i = 0; i < 100; ++i) box.put(2);
  });
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += box.get(i);
  sender.join();
  std::printf("%d\n", sum);
}
