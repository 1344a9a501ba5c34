// verdict: violated
// blocks: take_last
// output: popped from an empty queue
// Two locked calls, each atomic by itself, make an operation that is not: the queue was not empty
// when it was asked.
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include "turns.h"

static Turn asked = turn_make(), emptied = turn_make();

class Queue {
 public:
  void push(int item) {
    const std::lock_guard guard(mutex_);
    items_.push_back(item);
    ++size_;
  }
  int size() {
    const std::lock_guard guard(mutex_);
    return size_;  // <- here
  }
  bool pop() {
    const std::lock_guard guard(mutex_);
    if (size_ == 0) return false;  // <- here
    items_.pop_back();
    --size_;
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<int> items_;
  int size_ = 0;
};

static bool take_last(Queue& queue) {
  if (queue.size() == 0) return true;
  turn_give(&asked);
  turn_take(&emptied);
  return queue.pop();
}

int main() {
  Queue queue;
  queue.push(1);
  std::thread thief([&queue] {
    turn_take(&asked);
    queue.pop();
    turn_give(&emptied);
  });
  const bool good = take_last(queue);
  thief.join();
  std::puts(good ? "popped" : "popped from an empty queue");
}
