// verdict: clean
// blocks: update
// output: 2000
// A lock that the program makes itself out of std::atomic_flag. Others spin on the flag while the
// block runs.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

class SpinLock {
 public:
  void lock() {
    while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

static SpinLock lock;
static int counter = 0, check = 0;

static void update() {
  counter = counter + 1;
  check = counter;
}

int main() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) {
        lock.lock();
        update();
        lock.unlock();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::printf("%d\n", counter == check ? counter : -1);
}
