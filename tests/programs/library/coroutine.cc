// verdict: clean
// blocks: Numbers::next
// output: 45
// A coroutine begins in one thread and goes on in another: its frame is on the heap, and its calls
// do not nest as functions do.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <mutex>
#include <thread>

class Numbers {
 public:
  struct promise_type {
    int value = 0;
    Numbers get_return_object() { return Numbers(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int v) {
      value = v;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  using Handle = std::coroutine_handle<promise_type>;

  explicit Numbers(Handle handle) : handle_(handle) {}
  ~Numbers() { handle_.destroy(); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  int next() {
    const std::lock_guard guard(mutex_);
    handle_.resume();
    return handle_.promise().value;
  }

 private:
  std::mutex mutex_;
  Handle handle_;
};

static Numbers count() {
  for (int i = 0;; ++i) co_yield i;
}

int main() {
  Numbers numbers = count();
  int first = 0, second = 0;
  std::thread other([&] {
    for (int i = 0; i < 5; ++i) first += numbers.next();
  });
  for (int i = 0; i < 5; ++i) second += numbers.next();
  other.join();
  std::printf("%d\n", first + second);
}
