// synchronized vector: each call is locked; copying from another one asks for its size and takes
// its elements in two calls, and the other one shrinks in between. The fixed one holds the other's
// lock meanwhile.

#include <mutex>

#include "twins.h"

class Vector {
 public:
  Vector() : size_(3) {
    for (int i = 0; i < kMost; ++i) values_[i] = i;
  }
  Vector(Vector& from, bool fixed) {
    std::unique_lock guard(from.mutex_, std::defer_lock);
    if (fixed) guard.lock();
    const int count = from.size();
    if (!fixed) twins::interrupted();
    from.copy_to(*this, count);
  }
  int size() {
    const std::lock_guard guard(mutex_);
    return size_;
  }
  void clear() {
    const std::lock_guard guard(mutex_);
    size_ = 0;
    cleared_ = cleared_ + 1;
  }

 private:
  void copy_to(Vector& to, int count) {
    const std::lock_guard guard(mutex_);
    to.size_ = count < size_ ? count : size_;
    for (int i = 0; i < to.size_; ++i) to.values_[i] = values_[i];
  }
  static constexpr int kMost = 4;
  std::recursive_mutex mutex_;
  int size_ = 0;
  int cleared_ = 0;
  int values_[kMost] = {};
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Vector vector;
  std::thread copier([&] { const Vector copy(vector, fixed); });
  twins::wait_for_turn();
  vector.clear();
  twins::turn_over();
  copier.join();
}
