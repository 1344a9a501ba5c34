// verdict: violated
// blocks: Account::withdraw
// output: -50
// The balance is checked in one critical section and changed in the next; the lock is free in
// between, and somebody else takes the money.
#include <cstdio>
#include <mutex>
#include <thread>

#include "turns.h"

static Turn checked = turn_make(), taken = turn_make();

class Account {
 public:
  long balance() {
    const std::lock_guard guard(mutex_);
    return balance_;  // <- here
  }
  bool withdraw(long amount) {
    if (balance() < amount) return false;
    turn_give(&checked);
    turn_take(&taken);
    const std::lock_guard guard(mutex_);
    balance_ -= amount;  // <- here
    return true;
  }
  void charge(long fee) {
    const std::lock_guard guard(mutex_);
    balance_ -= fee;  // <- here
  }

 private:
  std::mutex mutex_;
  long balance_ = 100;
};

int main() {
  Account account;
  std::thread bank([&account] {
    turn_take(&checked);
    account.charge(50);
    turn_give(&taken);
  });
  account.withdraw(100);
  bank.join();
  std::printf("%ld\n", account.balance());
}
