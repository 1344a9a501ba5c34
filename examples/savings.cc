// Moves money from one half of an account to the other while somebody adds up both. Every access
// holds the mutex, so ThreadSanitizer has nothing to report, and nobody has said that anything is
// atomic; but checking and savings belong together, and transfer() lets go of the mutex in between.
//
//   syndrome c++ -g -std=c++20 -pthread savings.cc -o savings
//   syndrome record -o savings.syn -- ./savings
//   syndrome check --check atomic-sets savings.syn

#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

class Account {
 public:
  void transfer(int amount) {
    withdraw(amount);
    std::this_thread::yield();
    deposit(amount);
  }

  int total() {
    const std::lock_guard guard(mutex_);
    return checking_ + savings_;
  }

 private:
  void withdraw(int amount) {
    const std::lock_guard guard(mutex_);
    checking_ -= amount;
  }

  void deposit(int amount) {
    const std::lock_guard guard(mutex_);
    savings_ += amount;
  }

  std::mutex mutex_;
  int checking_ = 1000;
  int savings_ = 0;
};

int main() {
  Account account;
  int total = 1000;
  std::thread auditor([&] {
    // A lucky schedule shows nothing wrong: then the audit goes on.
    for (int i = 0; i < 100'000 && total == 1000; ++i) {
      total = account.total();
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
  });
  for (int i = 0; i < 10'000; ++i) account.transfer(i % 2 == 0 ? 1 : -1);
  auditor.join();
  std::printf("the auditor has found %d of 1000\n", total);
}
