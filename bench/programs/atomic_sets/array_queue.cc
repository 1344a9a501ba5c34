// array blocking queue: the values of another queue are added one call after the other, and taken
// from it without its lock. The fixed one holds both locks meanwhile.

#include <condition_variable>
#include <mutex>

#include "calls.h"

class ArrayQueue {
 public:
  bool offer(int value) {
    const std::lock_guard guard(mutex_);
    return insert(value);
  }
  bool poll() {
    const std::lock_guard guard(mutex_);
    return extract();
  }
  /// These two wait, until the queue is closed.
  void put(int value) {
    std::unique_lock guard(mutex_);
    while (count_ == kMost && !closed_) room_.wait(guard);
    (void)insert(value);
  }
  bool take() {
    std::unique_lock guard(mutex_);
    while (count_ == 0 && !closed_) values_.wait(guard);
    return extract();
  }
  int size() {
    const std::lock_guard guard(mutex_);
    return count_;
  }
  void clear() {
    const std::lock_guard guard(mutex_);
    first_ = 0;
    count_ = 0;
    room_.notify_all();
  }
  void close() {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    room_.notify_all();
    values_.notify_all();
  }

  void add_all(ArrayQueue& from, bool fixed) {
    if (fixed) {
      const std::scoped_lock guard(mutex_, from.mutex_);
      for (int i = 0; i < from.count_; ++i) (void)insert(from.at(i));
      return;
    }
    for (int i = 0; i < from.count_; ++i) {
      (void)offer(from.at(i));
      twins::interrupted();
    }
  }
  void drain_to(ArrayQueue& to, bool fixed) {
    if (fixed) {
      const std::scoped_lock guard(mutex_, to.mutex_);
      while (count_ > 0) {
        (void)to.insert(at(0));
        (void)extract();
      }
      return;
    }
    const std::lock_guard guard(mutex_);
    while (count_ > 0) {
      (void)to.insert(at(0));
      (void)extract();
    }
  }

 private:
  static constexpr int kMost = 8;

  bool insert(int value) {
    if (count_ == kMost) return false;
    items_[(first_ + count_) % kMost] = value;
    ++count_;
    values_.notify_one();
    return true;
  }
  bool extract() {
    if (count_ == 0) return false;
    first_ = (first_ + 1) % kMost;
    --count_;
    room_.notify_one();
    return true;
  }
  [[nodiscard]] int at(int index) const { return items_[(first_ + index) % kMost]; }

  std::mutex mutex_;
  std::condition_variable room_, values_;
  int items_[kMost] = {};
  int first_ = 0;
  int count_ = 0;
  bool closed_ = false;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  ArrayQueue queues[2];
  const twins::Load load = twins::load(argc, argv);
  if (load.threads != 0) {
    std::thread taker([&] {
      while (queues[0].take()) queues[1].put(1);
    });
    twins::random_calls(load, [&](twins::Random& random) {
      const int which = random.below(2);
      ArrayQueue& queue = queues[which];
      ArrayQueue& other = queues[1 - which];
      switch (random.below(7)) {
        case 0:
        case 1: (void)queue.offer(random.below(100)); break;
        case 2: (void)queue.poll(); break;
        case 3: (void)queue.size(); break;
        case 4: queue.clear(); break;
        case 5: queue.add_all(other, fixed); break;
        default: queue.drain_to(other, fixed); break;
      }
    });
    for (ArrayQueue& queue : queues) queue.close();
    taker.join();
    return 0;
  }
  (void)queues[1].offer(1);
  (void)queues[1].offer(2);
  std::thread adder([&] { queues[0].add_all(queues[1], fixed); });
  twins::wait_for_turn();
  (void)queues[0].poll();
  queues[1].clear();
  twins::turn_over();
  adder.join();
}
