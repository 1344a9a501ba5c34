// verdict: clean
// blocks: Stack::pop
// output: 200 popped, 600 empty
// An exception leaves a block: the block ends there, and what its thread does next is outside.
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

class Stack {
 public:
  explicit Stack(std::size_t items) : items_(items, 1) {}
  int pop() {
    const std::lock_guard guard(mutex_);
    return pop_locked();
  }

 private:
  int pop_locked() {
    if (items_.empty()) throw std::out_of_range("empty");
    const int item = items_.back();
    items_.pop_back();
    return item;
  }

  std::mutex mutex_;
  std::vector<int> items_;
};

static std::mutex count_mutex;
static int popped = 0, empty = 0;

int main() {
  Stack stack(200);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&stack] {
      for (int i = 0; i < 200; ++i) {
        int got = 0;
        try {
          got = stack.pop();
        } catch (const std::out_of_range&) {
        }
        // Two critical sections: in a block that had not ended, they would be a violation.
        const std::lock_guard guard(count_mutex);
        (got == 1 ? popped : empty) += 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::printf("%d popped, %d empty\n", popped, empty);
}
