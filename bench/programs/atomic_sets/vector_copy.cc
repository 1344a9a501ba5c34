// synchronized vector: each call is locked; copying from another one asks for its size and takes
// its elements in two calls, and the other one shrinks in between. The fixed one holds the other's
// lock meanwhile.

#include <mutex>

#include "calls.h"

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
  void add(int value) {
    const std::lock_guard guard(mutex_);
    if (size_ == kMost) return;
    values_[size_] = value;
    ++size_;
  }
  int last() {
    const std::lock_guard guard(mutex_);
    return size_ == 0 ? 0 : values_[size_ - 1];
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
  const twins::Load load = twins::load(argc, argv);
  if (load.threads != 0) {
    twins::random_calls(load, [&](twins::Random& random) {
      switch (random.below(6)) {
        case 0:
        case 1: vector.add(random.below(100)); break;
        case 2: vector.clear(); break;
        case 3: (void)vector.size(); break;
        case 4: (void)vector.last(); break;
        default: const Vector copy(vector, fixed); break;
      }
    });
    return 0;
  }
  std::thread copier([&] { const Vector copy(vector, fixed); });
  twins::wait_for_turn();
  vector.clear();
  twins::turn_over();
  copier.join();
}
