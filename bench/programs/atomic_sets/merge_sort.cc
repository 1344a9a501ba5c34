// merge sort: how many threads may still be started is asked in one synchronized call and taken in
// the next. Who calls them both is what ought to be one.

#include <mutex>

#include "twins.h"

class Threads {
 public:
  int available() {
    const std::lock_guard guard(mutex_);
    return available_;
  }
  void take(int count) {
    const std::lock_guard guard(mutex_);
    available_ = available_ - count;
  }
  bool try_take(int count) {
    const std::lock_guard guard(mutex_);
    if (available_ < count) return false;
    available_ -= count;
    return true;
  }

 private:
  std::mutex mutex_;
  int available_ = 3;
};

SYNDROME_UNIT(Threads) bool split(Threads& threads) {
  if (threads.available() < 2) return false;
  twins::interrupted();
  threads.take(2);
  return true;
}

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Threads threads;
  std::thread sorter([&] { fixed ? threads.try_take(2) : split(threads); });
  twins::wait_for_turn();
  threads.try_take(2);
  twins::turn_over();
  sorter.join();
}
