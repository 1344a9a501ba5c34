// verdict: violated
// output: 5
// The lost update in a scope of main, which is no function of its own.
#include <syndrome/syndrome.h>

#include <cstdio>
#include <mutex>
#include <thread>

#include "turns.h"

static std::mutex mutex;
static int counter = 0;
static Turn looked = turn_make(), done = turn_make();

static int look() {
  const std::lock_guard guard(mutex);
  return counter;  // <- here
}

static void set(int value) {
  const std::lock_guard guard(mutex);
  counter = value;  // <- here
}

int main() {
  std::thread other([] {
    turn_take(&looked);
    set(look() + 3);
    turn_give(&done);
  });
  {
    SYNDROME_ATOMIC_SCOPE("add 5");
    const int old = look();
    turn_give(&looked);
    turn_take(&done);
    set(old + 5);
  }
  other.join();
  std::printf("%d\n", look());
}
