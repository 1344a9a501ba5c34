// account: money goes from one account to another; the own half of a transfer is under the lock,
// the other account's is not.

#include <mutex>

#include "twins.h"

class Account {
 public:
  explicit Account(int amount) : amount_(amount) {}

  void deposit(int sum) {
    const std::lock_guard guard(mutex_);
    const int before = amount_;
    amount_ = before + sum;
  }

  void transfer(Account& to, int sum, bool fixed) {
    {
      const std::lock_guard guard(mutex_);
      amount_ -= sum;
    }
    if (fixed) {
      to.deposit(sum);
      return;
    }
    const int before = to.amount_;
    twins::interrupted();
    to.amount_ = before + sum;
  }

 private:
  std::mutex mutex_;
  int amount_;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Account from(100), to(100);
  std::thread mover([&] { from.transfer(to, 10, fixed); });
  twins::wait_for_turn();
  to.deposit(5);
  twins::turn_over();
  mover.join();
}
