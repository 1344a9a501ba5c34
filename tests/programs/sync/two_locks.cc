// verdict: clean
// blocks: transfer, total
// output: 1000
// Transfers that hold both locks from beginning to end (std::scoped_lock tries, backs off and tries
// again), and an observer that does the same.
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

struct Account {
  std::mutex mutex;
  long balance = 250;
};
static Account accounts[4];

static void transfer(Account& from, Account& to, long amount) {
  const std::scoped_lock guard(from.mutex, to.mutex);
  if (from.balance < amount) return;
  from.balance -= amount;
  to.balance += amount;
}

static long total() {
  const std::scoped_lock guard(accounts[0].mutex, accounts[1].mutex, accounts[2].mutex,
                               accounts[3].mutex);
  long sum = 0;
  for (const Account& account : accounts) sum += account.balance;
  return sum;
}

int main() {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([t] {
      for (unsigned i = 0; i < 100; ++i) {
        const unsigned from = (i + t) % 4;
        transfer(accounts[from], accounts[(from + 1 + i % 3) % 4], static_cast<long>(i % 7));
      }
    });
  }
  long sum = 1000;
  for (int i = 0; i < 20; ++i) {
    const long seen = total();
    if (seen != 1000) sum = seen;
  }
  for (auto& thread : threads) thread.join();
  std::printf("%ld\n", sum);
}
