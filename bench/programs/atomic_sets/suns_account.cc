// Sun's account: an update of a balance, read and written back, that forgot to be synchronized.

#include <mutex>

#include "twins.h"

class Bank {
 public:
  void update(int sum) {
    const int before = balance_;
    twins::interrupted();
    balance_ = before + sum;
  }
  void update_locked(int sum) {
    const std::lock_guard guard(mutex_);
    balance_ += sum;
  }

 private:
  std::mutex mutex_;
  int balance_ = 0;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Bank bank;
  std::thread clerk([&] { fixed ? bank.update_locked(1) : bank.update(1); });
  twins::wait_for_turn();
  bank.update_locked(2);
  twins::turn_over();
  clerk.join();
}
