// The caller that inserts the entry under the lock is the one who computes.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <future>
#include <map>
#include <mutex>
#include <thread>

class QuoteService {
public:
    int quote(int symbol) {
        std::promise<int> p;
        std::shared_future<int> f = p.get_future().share();
        bool mine;
        {
            std::lock_guard<std::mutex> g(mu_);
            auto [it, inserted] = pending_.emplace(symbol, f);
            f = it->second;
            mine = inserted;
        }
        if (mine)
            p.set_value(buy_quote(symbol));
        return f.get();
    }

    int charges() const { return charges_.load(); }

private:
    int buy_quote(int symbol) {
        charges_++;
        return symbol * 100 + 7;
    }

    std::mutex mu_;
    std::map<int, std::shared_future<int>> pending_;
    std::atomic<int> charges_{0};
};

int main() {
    constexpr int kSymbols = 15000;
    QuoteService service;
    long sum[2] = {};
    auto trader = [&](int id) {
        for (int s = 0; s < kSymbols; s++)
            sum[id] += service.quote(s);
    };
    std::thread a(trader, 0), b(trader, 1);
    a.join();
    b.join();
    std::printf("charges %d for %d symbols: %s\n", service.charges(), kSymbols,
                service.charges() == kSymbols ? "ok" : "WRONG");
    assert(service.charges() == kSymbols && sum[0] == sum[1]);
    return 0;
}
