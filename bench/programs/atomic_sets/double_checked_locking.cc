// double-checked locking: whether the object is there is asked without the lock, and again with it;
// the fixed one asks under the lock alone.

#include <mutex>

#include "twins.h"

class Lazy {
 public:
  int get(bool fixed) {
    if (!fixed && made_) return value_;
    if (!fixed) twins::interrupted();
    const std::lock_guard guard(mutex_);
    if (!made_) {
      value_ = 42;
      made_ = true;
    }
    return value_;
  }

 private:
  std::mutex mutex_;
  bool made_ = false;
  int value_ = 0;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Lazy lazy;
  std::thread user([&] { (void)lazy.get(fixed); });
  twins::wait_for_turn();
  (void)lazy.get(true);
  twins::turn_over();
  user.join();
}
