// An item is looked up and then created with a fresh quantity, which wipes out what another thread stored in between.
// harm: Inventory::add and stock_
#include <cassert>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Inventory {
public:
    bool contains(const std::string &item) const {
        std::lock_guard<std::mutex> g(mu_);
        return stock_.count(item) != 0;
    }

    void put(const std::string &item, int n) {
        std::lock_guard<std::mutex> g(mu_);
        stock_[item] = n;
    }

    void raise(const std::string &item, int n) {
        std::lock_guard<std::mutex> g(mu_);
        stock_.at(item) += n;
    }

    void add(const std::string &item, int n) {
        if (contains(item))
            raise(item, n);
        else
            put(item, n);
    }

    long total() const {
        std::lock_guard<std::mutex> g(mu_);
        long sum = 0;
        for (const auto &[name, n] : stock_)
            sum += n;
        return sum;
    }

private:
    mutable std::mutex mu_;
    std::map<std::string, int> stock_;
};

int main() {
    constexpr int kItems = 8000, kThreads = 3;
    Inventory inv;
    std::vector<std::thread> crew;
    for (int t = 0; t < kThreads; t++)
        crew.emplace_back([&inv] {
            for (int i = 0; i < kItems; i++)
                inv.add("part-" + std::to_string(i), 1);
        });
    for (auto &t : crew)
        t.join();
    long got = inv.total();
    std::printf("stock %ld of %d: %s\n", got, kItems * kThreads, got == kItems * kThreads ? "ok" : "WRONG");
}
