// verdict: violated
// blocks: reserve
// output: 2 seats of 1
// The first critical section of the block is left by an exception, which a function between it and
// the block catches.
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "turns.h"

static std::mutex mutex;
static int reserved = 0;
static Turn looked = turn_make(), done = turn_make();

static void complain_if_full() {
  const std::lock_guard guard(mutex);
  throw std::runtime_error(reserved > 0 ? "full" : "free");  // <- here
}

static bool has_seat() {
  try {
    complain_if_full();
  } catch (const std::runtime_error& error) {
    return error.what()[1] == 'r';
  }
  return false;
}

static void reserve(bool slow) {
  if (!has_seat()) return;
  if (slow) {
    turn_give(&looked);
    turn_take(&done);
  }
  const std::lock_guard guard(mutex);
  ++reserved;  // <- here
}

int main() {
  std::thread other([] {
    turn_take(&looked);
    reserve(false);
    turn_give(&done);
  });
  reserve(true);
  other.join();
  std::printf("%d seats of 1\n", reserved);
}
