// verdict: clean
// blocks: Session::step
// output: 100
// Thread-local variables of threads that have ended lie where those of new threads are created, and
// their destructors run after the thread's function.
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex mutex;
static int ended = 0;

struct Session {
  int steps = 0;
  void step() { steps += 1; }
  ~Session() {
    const std::lock_guard guard(mutex);
    if (steps == 3) ++ended;
  }
};
static thread_local Session session;

int main() {
  for (int i = 0; i < 50; ++i) {
    const auto work = [] {
      session.step();
      session.step();
      session.step();
    };
    std::thread one(work), two(work);
    one.join();
    two.join();
  }
  const std::lock_guard guard(mutex);
  std::printf("%d\n", ended);
}
