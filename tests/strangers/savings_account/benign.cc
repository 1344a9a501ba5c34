// Interest is computed from an earlier balance by contract (opening balance), and added with a single locked call.
#include <cassert>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

class Account {
public:
    virtual ~Account() = default;
    long balance() const {
        std::lock_guard<std::recursive_mutex> g(mu_);
        return balance_;
    }
    void set_balance(long b) {
        std::lock_guard<std::recursive_mutex> g(mu_);
        balance_ = b;
    }
    void deposit(long amount) {
        std::lock_guard<std::recursive_mutex> g(mu_);
        balance_ += amount;
    }
    virtual long add_interest() = 0;

protected:
    mutable std::recursive_mutex mu_;
    long balance_ = 1000;
};

class SavingsAccount : public Account {
public:
    long add_interest() override {
        long opening = balance();
        long interest = opening % 7 + 1;
        deposit(interest);
        return interest;
    }
};

int main() {
    std::unique_ptr<Account> account = std::make_unique<SavingsAccount>();
    long interest = 0;
    constexpr long kDeposits = 50000;
    std::thread customer([&] {
        for (long i = 0; i < kDeposits; i++)
            account->deposit(2);
    });
    std::thread bank([&] {
        for (long i = 0; i < kDeposits; i++)
            interest += account->add_interest();
    });
    customer.join();
    bank.join();
    long want = 1000 + 2 * kDeposits + interest;
    std::cout << "balance " << account->balance() << " want " << want << ": "
              << (account->balance() == want ? "ok" : "WRONG") << std::endl;
    assert(account->balance() == want);
    return 0;
}
