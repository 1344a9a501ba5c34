// verdict: violated
// blocks: transfer, total
// output: total 60 of 100
// A transfer takes two locks, one after the other; an observer that locks both sees the money in
// neither account.
#include <cstdio>
#include <mutex>
#include <thread>

#include "turns.h"

static Turn withdrawn = turn_make(), seen = turn_make();

struct Account {
  std::mutex mutex;
  long balance = 50;
};
static Account left, right;

static void transfer(long amount) {
  {
    const std::lock_guard guard(left.mutex);
    left.balance -= amount;  // <- here
  }
  turn_give(&withdrawn);
  turn_take(&seen);
  const std::lock_guard guard(right.mutex);
  right.balance += amount;  // <- here
}

static long total() {
  const std::scoped_lock guard(left.mutex, right.mutex);
  return left.balance + right.balance;  // <- here
}

int main() {
  long sum = 0;
  std::thread observer([&sum] {
    turn_take(&withdrawn);
    sum = total();
    turn_give(&seen);
  });
  transfer(40);
  observer.join();
  std::printf("total %ld of %ld\n", sum, total());
}
