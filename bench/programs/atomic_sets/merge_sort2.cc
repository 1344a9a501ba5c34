// merge sort, the second: the count of running sorters is updated without a lock.

#include <mutex>

#include "twins.h"

class Sorters {
 public:
  void finished(bool locked) {
    std::unique_lock guard(mutex_, std::defer_lock);
    if (locked) guard.lock();
    const int before = running_;
    if (!locked) twins::interrupted();
    running_ = before - 1;
    done_ = running_ == 0;
  }

 private:
  std::mutex mutex_;
  int running_ = 2;
  bool done_ = false;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Sorters sorters;
  std::thread half([&] { sorters.finished(fixed); });
  twins::wait_for_turn();
  sorters.finished(true);
  twins::turn_over();
  half.join();
}
