// delay queue: values come out when they are due. What is due is moved to another queue one call
// after the other, and the values of another one are looked at without its lock; the fixed one
// holds both locks meanwhile.

#include <condition_variable>
#include <mutex>

#include "calls.h"

class DelayQueue {
 public:
  bool add(int due) {
    const std::lock_guard guard(mutex_);
    return insert(due);
  }
  bool poll(int& due) {
    const std::lock_guard guard(mutex_);
    return extract(due);
  }
  /// Waits, until the queue is closed.
  bool take() {
    std::unique_lock guard(mutex_);
    int due = 0;
    for (;;) {
      if (extract(due)) return true;
      if (closed_) return false;
      changed_.wait(guard);
    }
  }
  int size() {
    const std::lock_guard guard(mutex_);
    return size_;
  }
  void advance() {
    const std::lock_guard guard(mutex_);
    now_ = now_ + 1;
    changed_.notify_all();
  }
  void clear() {
    const std::lock_guard guard(mutex_);
    size_ = 0;
  }
  void close() {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  void drain_to(DelayQueue& to, bool fixed) {
    int due = 0;
    if (fixed) {
      const std::scoped_lock guard(mutex_, to.mutex_);
      while (extract(due)) (void)to.insert(due);
      return;
    }
    while (poll(due)) {
      twins::interrupted();
      (void)to.add(due);
    }
  }
  /// The time at which all of another queue's values are due here, too.
  bool catch_up(DelayQueue& with, bool fixed) {
    if (fixed) {
      const std::scoped_lock guard(mutex_, with.mutex_);
      if (now_ < with.now_) now_ = with.now_;
      return size_ <= with.size_;
    }
    const std::lock_guard guard(mutex_);
    if (now_ < with.now_) now_ = with.now_;
    return size_ <= with.size_;
  }

 private:
  static constexpr int kMost = 8;

  bool insert(int due) {
    if (size_ == kMost) return false;
    int at = size_;
    for (; at > 0 && dues_[at - 1] < now_ + due; --at) dues_[at] = dues_[at - 1];
    dues_[at] = now_ + due;
    ++size_;
    changed_.notify_one();
    return true;
  }
  bool extract(int& due) {
    if (size_ == 0 || dues_[size_ - 1] > now_) return false;
    due = dues_[size_ - 1] - now_;
    --size_;
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int dues_[kMost] = {};  // the next one last
  int size_ = 0;
  int now_ = 0;
  bool closed_ = false;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  DelayQueue queues[2];
  const twins::Load load = twins::load(argc, argv);
  if (load.threads != 0) {
    std::thread taker([&] {
      while (queues[0].take()) {
      }
    });
    twins::random_calls(load, [&](twins::Random& random) {
      const int which = random.below(2);
      DelayQueue& queue = queues[which];
      DelayQueue& other = queues[1 - which];
      int due = 0;
      switch (random.below(8)) {
        case 0:
        case 1: (void)queue.add(random.below(4)); break;
        case 2: (void)queue.poll(due); break;
        case 3: (void)queue.size(); break;
        case 4: queue.advance(); break;
        case 5: queue.clear(); break;
        case 6: queue.drain_to(other, fixed); break;
        default: (void)queue.catch_up(other, fixed); break;
      }
    });
    for (DelayQueue& queue : queues) queue.close();
    taker.join();
    return 0;
  }
  (void)queues[0].add(0);
  (void)queues[0].add(0);
  std::thread mover([&] { queues[0].drain_to(queues[1], fixed); });
  twins::wait_for_turn();
  queues[0].clear();
  twins::turn_over();
  mover.join();
}
