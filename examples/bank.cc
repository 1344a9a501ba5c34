// A small bank in which every access is locked, so that ThreadSanitizer has nothing to report, and
// in which money is still lost: withdraw() checks the balance in one critical section and changes
// it in another. bank.std beside this file is a run of it in which that happened.
//
//   g++ -std=c++20 -pthread bank.cc -o bank

#include <cstdio>
#include <mutex>
#include <thread>

class Account {
 public:
  explicit Account(long balance) : balance_(balance) {}

  long balance() {
    const std::lock_guard guard(mutex_);
    return balance_;
  }

  void deposit(long amount) {
    const std::lock_guard guard(mutex_);
    balance_ += amount;
  }

  bool withdraw(long amount) {
    if (balance() < amount) return false;
    const std::lock_guard guard(mutex_);
    balance_ -= amount;
    return true;
  }

  bool transfer(Account& to, long amount) {
    if (!withdraw(amount)) return false;
    to.deposit(amount);
    return true;
  }

  static long total(Account& first, Account& second) {
    const std::scoped_lock guard(first.mutex_, second.mutex_);
    return first.balance_ + second.balance_;
  }

 private:
  std::mutex mutex_;
  long balance_;
};

int main() {
  Account checking(100);
  Account savings(0);
  std::thread salary([&] { checking.deposit(50); });
  salary.join();
  std::thread alice([&] { checking.transfer(savings, 120); });
  std::thread atm([&] { checking.withdraw(100); });
  std::thread auditor([&] { Account::total(checking, savings); });
  alice.join();
  atm.join();
  auditor.join();
  std::printf("checking %ld, savings %ld\n", checking.balance(), savings.balance());
}
