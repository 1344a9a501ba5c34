// The home-made lock is tested in one step and taken in another, so two threads can hold it at once.
// harm: SpinLock::lock and taken_ (main's counter)
#include <atomic>
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

class SpinLock {
public:
    void lock() {
        while (taken_.load(std::memory_order_acquire))
            std::this_thread::yield();
        taken_.store(true, std::memory_order_release);
    }

    void unlock() { taken_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> taken_{false};
};

struct Ledger {
    SpinLock lock;
    long entries = 0;
    long debit = 0;
    long credit = 0;

    void post(long amount) {
        std::lock_guard<SpinLock> g(lock);
        entries++;
        debit += amount;
        credit -= amount;
    }
};

int main() {
    constexpr int kPosts = 50000;
    Ledger ledger;
    std::vector<std::thread> clerks;
    for (int c = 0; c < 3; c++)
        clerks.emplace_back([&ledger] {
            for (int i = 0; i < kPosts; i++)
                ledger.post(1);
        });
    for (auto &c : clerks)
        c.join();
    bool ok = ledger.entries == 3L * kPosts && ledger.debit == -ledger.credit;
    std::printf("entries %ld of %d, debit %ld credit %ld: %s\n", ledger.entries, 3 * kPosts, ledger.debit,
                ledger.credit, ok ? "ok" : "WRONG");
    return 0;
}
