// account: ten threads transfer between twenty accounts, each with a lock; who finds too little
// waits for a deposit.

#include "program.h"

namespace {

using namespace predictive;

constexpr std::size_t kAccounts = 20;
constexpr std::size_t kThreads = 10;
constexpr int kTransfers = 3;

struct Account {
  Mutex mutex;
  Condition deposited;
  int balance = 15;
  int transfers = 0;
};

Account accounts[kAccounts];
Mutex bank;
int transferred = 0;
int waits = 0;

void withdraw(Account& account, int amount) {
  const Guard guard(account.mutex);
  while (account.balance < amount) account.deposited.wait(account.mutex);
  account.balance -= amount;
  ++account.transfers;
}

void deposit(Account& account, int amount) {
  const Guard guard(account.mutex);
  account.balance += amount;
  ++account.transfers;
  account.deposited.notify_one();
}

void work(std::size_t number) {
  for (int i = 0; i < kTransfers; ++i) {
    const std::size_t from = (number * 2 + static_cast<std::size_t>(i)) % kAccounts;
    const std::size_t to = (from + 1) % kAccounts;
    withdraw(accounts[from], 5);
    deposit(accounts[to], 5);
    const Guard guard(bank);
    transferred += 5;
    if (accounts[to].balance < 0) ++waits;
  }
}

}  // namespace

int main() {
  in_threads(kThreads, work);
  int sum = 0;
  for (const Account& account : accounts) sum += account.balance;
  return sum == 15 * static_cast<int>(kAccounts) ? 0 : 1;
}
