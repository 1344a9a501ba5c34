// Deposits use fetch_add.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace shop {

class Wallet {
public:
    explicit Wallet(std::string owner) : owner_(std::move(owner)) {}

    void deposit(long cents) {
        if (cents <= 0)
            return;
        cents_.fetch_add(cents);
    }

    long cents() const { return cents_.load(); }
    const std::string &owner() const { return owner_; }

private:
    std::string owner_;
    std::atomic<long> cents_{0};
};

} // namespace shop

int main() {
    constexpr int kDeposits = 400000;
    shop::Wallet wallet("ada");
    std::atomic<int> ready{0};
    auto payer = [&] {
        ready.fetch_add(1);
        while (ready.load() < 2)
            std::this_thread::yield();
        for (int i = 0; i < kDeposits; i++)
            wallet.deposit(5);
    };
    std::vector<std::thread> payers;
    payers.emplace_back(payer);
    payers.emplace_back(payer);
    for (auto &p : payers)
        p.join();
    long want = 2L * kDeposits * 5;
    std::printf("%s has %ld of %ld: %s\n", wallet.owner().c_str(), wallet.cents(), want,
                wallet.cents() == want ? "ok" : "WRONG");
    assert(wallet.cents() == want);
    return 0;
}
