// The table is filled first and flagged ready last, by one thread under the lock.
#include <array>
#include <atomic>
#include <barrier>
#include <cassert>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

class SquareTable {
public:
    long lookup(int i) {
        std::lock_guard<std::mutex> g(mu_);
        if (!ready_.load()) {
            for (int k = 0; k < kSize; k++)
                values_[k] = long(k) * k;
            ready_.store(true);
        }
        return values_[i];
    }

    static constexpr int kSize = 4000;

private:
    std::mutex mu_;
    std::atomic<bool> ready_{false};
    std::array<long, kSize> values_{};
};

int main() {
    constexpr int kRounds = 400;
    constexpr int kLast = SquareTable::kSize - 1;
    auto table = std::make_unique<SquareTable>();
    int wrong[2] = {};
    auto fresh = [&]() noexcept { table = std::make_unique<SquareTable>(); };
    std::barrier next(2, fresh);
    auto user = [&](int id) {
        for (int r = 0; r < kRounds; r++) {
            next.arrive_and_wait();
            wrong[id] += table->lookup(kLast) != long(kLast) * kLast;
        }
    };
    std::thread a(user, 0), b(user, 1);
    a.join();
    b.join();
    int n = wrong[0] + wrong[1];
    std::printf("wrong squares %d: %s\n", n, n ? "WRONG" : "ok");
    assert(n == 0);
    return 0;
}
