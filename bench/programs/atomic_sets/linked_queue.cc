// linked blocking queue: one lock for its end, one for its beginning. Values that belong together
// are added one call after the other; clear() comes in between. The fixed one holds the lock of the
// end meanwhile.

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "calls.h"

class LinkedQueue {
 public:
  LinkedQueue() : head_(new Node), last_(head_) {}
  ~LinkedQueue() {
    clear();
    delete head_;
  }
  LinkedQueue(const LinkedQueue&) = delete;
  LinkedQueue& operator=(const LinkedQueue&) = delete;

  bool offer(int value) {
    const std::lock_guard guard(end_);
    return insert(value);
  }
  bool poll() {
    const std::lock_guard guard(begin_);
    return extract();
  }
  /// Waits, until the queue is closed.
  bool take() {
    std::unique_lock guard(begin_);
    while (count_.load() == 0 && !closed_.load()) values_.wait(guard);
    return extract();
  }
  int size() { return count_.load(); }
  void clear() {
    const std::scoped_lock guard(begin_, end_);
    while (head_ != last_) (void)extract();
  }
  void close() {
    const std::lock_guard guard(begin_);
    closed_.store(true);
    values_.notify_all();
  }

  void add_all(const std::vector<int>& values, bool fixed) {
    std::unique_lock guard(end_, std::defer_lock);
    if (fixed) guard.lock();
    for (const int value : values) {
      if (fixed) {
        (void)insert(value);
      } else {
        (void)offer(value);
        twins::interrupted();
      }
    }
  }
  int drain(bool fixed) {
    std::unique_lock guard(begin_, std::defer_lock);
    if (fixed) guard.lock();
    int count = 0;
    while (fixed ? extract() : poll()) ++count;
    return count;
  }

 private:
  static constexpr int kMost = 16;
  struct Node {
    int value = 0;
    Node* next = nullptr;
  };

  bool insert(int value) {
    if (count_.load() >= kMost) return false;
    Node* const node = new Node;
    node->value = value;
    last_->next = node;
    last_ = node;
    count_.fetch_add(1);
    values_.notify_one();
    return true;
  }
  bool extract() {
    if (count_.load() == 0) return false;
    Node* const old = head_;
    head_ = old->next;
    count_.fetch_sub(1);
    delete old;
    return true;
  }

  std::mutex begin_, end_;
  std::condition_variable values_;
  std::atomic<int> count_ = 0;
  std::atomic<bool> closed_ = false;
  Node* head_;
  Node* last_;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  LinkedQueue queue;
  const twins::Load load = twins::load(argc, argv);
  if (load.threads != 0) {
    std::thread taker([&] {
      while (queue.take()) {
      }
    });
    twins::random_calls(load, [&](twins::Random& random) {
      switch (random.below(7)) {
        case 0:
        case 1: (void)queue.offer(random.below(100)); break;
        case 2: (void)queue.poll(); break;
        case 3: (void)queue.size(); break;
        case 4: queue.clear(); break;
        case 5: queue.add_all({1, 2, 3}, fixed); break;
        default: (void)queue.drain(fixed); break;
      }
    });
    queue.close();
    taker.join();
    return 0;
  }
  std::thread adder([&] { queue.add_all({1, 2, 3}, fixed); });
  twins::wait_for_turn();
  queue.clear();
  twins::turn_over();
  adder.join();
}
