// verdict: clean
// blocks: Registry::add
// output: 400
// Threads run before main, started by the initializer of a static object.
#include <cstdio>
#include <mutex>
#include <thread>

class Registry {
 public:
  Registry() {
    const auto fill = [this] {
      for (int i = 0; i < 200; ++i) add();
    };
    std::thread one(fill), two(fill);
    one.join();
    two.join();
  }
  void add() {
    const std::lock_guard guard(mutex_);
    entries_ = entries_ + 1;
  }
  int entries() const { return entries_; }

 private:
  std::mutex mutex_;
  int entries_ = 0;
};
static Registry registry;

int main() {
  std::printf("%d\n", registry.entries());
}
