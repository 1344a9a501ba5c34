// verdict: clean
// output: 800 800
// Blocks by annotation, without a spec: a function, a member declared apart from its definition,
// and a scope. A scope ends with its braces, also by break and by exception.
#include <syndrome/syndrome.h>

#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::mutex mutex;
static int counter = 0;

SYNDROME_ATOMIC static void add(int by) {
  const std::lock_guard guard(mutex);
  counter = counter + by;
}

class Meter {
 public:
  SYNDROME_ATOMIC void tick();
  int ticks() const { return ticks_; }

 private:
  std::mutex mutex_;
  int ticks_ = 0;
};

void Meter::tick() {
  const std::lock_guard guard(mutex_);
  ticks_ = ticks_ + 1;
}

static void scoped(int i) {
  while (true) {
    SYNDROME_ATOMIC_SCOPE("scoped");
    const std::lock_guard guard(mutex);
    counter = counter + 1;
    if (i % 2 == 0) break;
    throw std::runtime_error("odd");
  }
}

int main() {
  Meter meter;
  const auto work = [&meter] {
    for (int i = 0; i < 200; ++i) {
      add(1);
      meter.tick();
      try {
        scoped(i);
      } catch (const std::runtime_error&) {
        meter.tick();  // the second critical section: a violation if the scope had not ended
        continue;
      }
      meter.tick();
    }
  };
  std::thread one(work), two(work);
  one.join();
  two.join();
  std::printf("%d %d\n", counter, meter.ticks());
}
