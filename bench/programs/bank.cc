// verdict: clean
// blocks: Bank::transfer, Bank::total
// args: 2000
// output: 2000 transfers, nothing lost
// Accounts with a lock each; a transfer holds both locks, and now and then an audit holds all.
//
//   bank [TRANSFERS]
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

class Bank {
 public:
  bool transfer(std::size_t from, std::size_t to, long amount) {
    Account& payer = accounts_[from];
    Account& payee = accounts_[to];
    // The lower one first, so that two transfers cannot wait for each other.
    const std::lock_guard first(from < to ? payer.mutex : payee.mutex);
    const std::lock_guard second(from < to ? payee.mutex : payer.mutex);
    if (payer.balance < amount) return false;
    payer.balance -= amount;
    payee.balance += amount;
    payer.book(-amount);
    payee.book(amount);
    return true;
  }

  long total() {
    for (Account& account : accounts_) account.mutex.lock();
    long sum = 0;
    for (const Account& account : accounts_) sum += account.balance;
    for (Account& account : accounts_) account.mutex.unlock();
    return sum;
  }

  static constexpr std::size_t kAccounts = 64;
  static constexpr long kMoney = 1000;

 private:
  struct Account {
    void book(long amount) {
      history[entries++ % history.size()] = amount;
      largest = std::max(largest, amount);
    }
    std::mutex mutex;
    long balance = kMoney;
    long largest = 0;
    std::size_t entries = 0;
    std::array<long, 8> history{};
  };
  std::array<Account, kAccounts> accounts_;
};

static bool keep_transferring(Bank& bank, std::uint64_t seed, std::size_t count) {
  std::uint64_t state = seed;
  bool good = true;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::size_t from = (state >> 33U) % Bank::kAccounts;
    const std::size_t to = (from + 1 + (state >> 43U) % (Bank::kAccounts - 1)) % Bank::kAccounts;
    bank.transfer(from, to, static_cast<long>((state >> 53U) % 100));
    if (i % 1000 == 999) {
      good = good && bank.total() == static_cast<long>(Bank::kAccounts) * Bank::kMoney;
    }
  }
  return good;
}

int main(int argc, char** argv) {
  constexpr std::size_t kThreads = 4;
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 6'000'000;
  Bank bank;
  std::array<bool, kThreads> good{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back(
        [&bank, &good, t, count] { good[t] = keep_transferring(bank, t + 1, count / kThreads); });
  }
  for (auto& thread : threads) thread.join();
  const bool kept = std::ranges::all_of(good, [](bool one) { return one; }) &&
                    bank.total() == static_cast<long>(Bank::kAccounts) * Bank::kMoney;
  std::printf("%zu transfers, %s\n", count, kept ? "nothing lost" : "money lost");
  return kept ? 0 : 1;
}
