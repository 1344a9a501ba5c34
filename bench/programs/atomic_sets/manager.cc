// manager: pages that are released and pages that are left are two counters which must add up; a
// release updates them one after the other.

#include <mutex>

#include "twins.h"

class Manager {
 public:
  void release(bool locked) {
    std::unique_lock guard(mutex_, std::defer_lock);
    if (locked) guard.lock();
    ++released_;
    if (!locked) twins::interrupted();
    --left_;
  }
  bool adds_up() {
    const std::lock_guard guard(mutex_);
    return released_ + left_ == kPages;
  }

 private:
  static constexpr int kPages = 10;
  std::mutex mutex_;
  int released_ = 0;
  int left_ = kPages;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Manager manager;
  std::thread worker([&] { manager.release(fixed); });
  twins::wait_for_turn();
  (void)manager.adds_up();
  manager.release(true);
  twins::turn_over();
  worker.join();
}
