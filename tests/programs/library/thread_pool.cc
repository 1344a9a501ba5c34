// verdict: clean
// blocks: Task::run
// output: 2000
// A pool of threads takes tasks from a queue; a task's data goes from the one who made it to the
// one who runs it and back, without a lock of its own.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      const std::lock_guard guard(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }
  void submit(std::function<void()> task) {
    {
      const std::lock_guard guard(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  void work() {
    while (true) {
      std::function<void()> task;
      {
        std::unique_lock guard(mutex_);
        changed_.wait(guard, [this] { return closing_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

struct Task {
  int input = 0, steps = 0, output = 0;
  void run() {
    for (steps = 0; steps < 4; ++steps) output += input;
  }
};

int main() {
  std::vector<Task> tasks(100);
  {
    Pool pool(4);
    for (auto& task : tasks) {
      task.input = 5;
      pool.submit([&task] { task.run(); });
    }
  }
  int sum = 0;
  for (const auto& task : tasks) sum += task.output;
  std::printf("%d\n", sum);
}
