// verdict: clean
// blocks: Log::add
// output: main
// output: 400
// The destructor of a static object, and atexit, run threads after main has returned.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

class Log {
 public:
  ~Log() {
    run();
    std::printf("%d\n", entries_);
  }
  void add() {
    const std::lock_guard guard(mutex_);
    entries_ = entries_ + 1;
  }
  void run() {
    const auto fill = [this] {
      for (int i = 0; i < 100; ++i) add();
    };
    std::thread one(fill), two(fill);
    one.join();
    two.join();
  }

 private:
  std::mutex mutex_;
  int entries_ = 0;
};
static Log log_;

int main() {
  std::atexit([] { log_.run(); });
  std::puts("main");
}
