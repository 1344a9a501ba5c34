// verdict: violated
// blocks: Buffer::take
// output: -1 left
// A condition is waited for with `if` instead of `while`: whoever comes between the signal and the
// waking takes what was waited for.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "turns.h"

static Turn waiting = turn_make();

class Buffer {
 public:
  void take() {
    std::unique_lock guard(mutex_);
    if (items_ == 0) {  // <- here
      turn_give(&waiting);
      changed_.wait(guard);
    }
    --items_;  // <- here
  }
  void put_and_take_back() {
    const std::lock_guard guard(mutex_);
    ++items_;
    changed_.notify_one();
    --items_;
  }
  int items() const { return items_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int items_ = 0;
};

int main() {
  Buffer buffer;
  std::thread consumer([&buffer] { buffer.take(); });
  turn_take(&waiting);
  buffer.put_and_take_back();
  consumer.join();
  std::printf("%d left\n", buffer.items());
}
