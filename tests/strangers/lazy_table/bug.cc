// The table is flagged ready before it is filled, so another thread reads zeros from it.
// harm: SquareTable::lookup and values_ (ready_)
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
        if (!ready_.exchange(true)) {
            for (int k = 0; k < kSize; k++)
                values_[k] = long(k) * k;
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
    return 0;
}
