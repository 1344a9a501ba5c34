// synchronized list: a wrapper that locks each call of a list. What takes another list as its
// parameter goes through that one without its lock; the fixed one holds both.

#include <algorithm>
#include <mutex>

#include "calls.h"

class SynchronizedList {
 public:
  void add(int value) {
    const std::lock_guard guard(mutex_);
    if (values_.size() < kMost) values_.push_back(value);
  }
  void remove_last() {
    const std::lock_guard guard(mutex_);
    if (!values_.empty()) values_.pop_back();
  }
  void clear() {
    const std::lock_guard guard(mutex_);
    values_.clear();
  }
  std::size_t size() {
    const std::lock_guard guard(mutex_);
    return values_.size();
  }
  bool contains(int value) {
    const std::lock_guard guard(mutex_);
    return std::find(values_.begin(), values_.end(), value) != values_.end();
  }

  // Of all values of another list.
  void add_all(SynchronizedList& other, bool fixed) {
    std::unique_lock own(mutex_, std::defer_lock);
    std::unique_lock others(other.mutex_, std::defer_lock);
    lock(own, others, fixed);
    for (std::size_t i = 0; i < other.values_.size(); ++i) {
      if (!fixed) twins::interrupted();
      if (values_.size() < kMost) values_.push_back(other.values_[i]);
    }
  }
  void remove_all(SynchronizedList& other, bool fixed) {
    std::unique_lock own(mutex_, std::defer_lock);
    std::unique_lock others(other.mutex_, std::defer_lock);
    lock(own, others, fixed);
    for (std::size_t i = 0; i < other.values_.size(); ++i) {
      values_.erase(std::remove(values_.begin(), values_.end(), other.values_[i]), values_.end());
    }
  }
  bool contains_all(SynchronizedList& other, bool fixed) {
    std::unique_lock own(mutex_, std::defer_lock);
    std::unique_lock others(other.mutex_, std::defer_lock);
    lock(own, others, fixed);
    for (std::size_t i = 0; i < other.values_.size(); ++i) {
      if (std::find(values_.begin(), values_.end(), other.values_[i]) == values_.end())
        return false;
    }
    return true;
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  static void lock(Lock& own, Lock& others, bool both) {
    if (both) {
      std::lock(own, others);
    } else {
      own.lock();
    }
  }
  static constexpr std::size_t kMost = 8;
  std::mutex mutex_;
  // Never moves: who reads it without the lock reads old values, not freed memory.
  std::vector<int> values_ = reserved();
  static std::vector<int> reserved() {
    std::vector<int> values;
    values.reserve(kMost);
    return values;
  }
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  SynchronizedList lists[2];
  const twins::Load load = twins::load(argc, argv);
  if (load.threads != 0) {
    twins::random_calls(load, [&](twins::Random& random) {
      const int which = random.below(2);
      SynchronizedList& list = lists[which];
      SynchronizedList& other = lists[1 - which];
      switch (random.below(9)) {
        case 0:
        case 1: list.add(random.below(100)); break;
        case 2: list.remove_last(); break;
        case 3: list.clear(); break;
        case 4: (void)list.size(); break;
        case 5: (void)list.contains(random.below(100)); break;
        case 6: list.add_all(other, fixed); break;
        case 7: list.remove_all(other, fixed); break;
        default: (void)list.contains_all(other, fixed); break;
      }
    });
    return 0;
  }
  lists[1].add(1);
  lists[1].add(2);
  std::thread adder([&] { lists[0].add_all(lists[1], fixed); });
  twins::wait_for_turn();
  lists[1].clear();
  twins::turn_over();
  adder.join();
}
