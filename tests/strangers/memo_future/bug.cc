// Two callers that miss the same key both register a computation, and the account is charged twice for one quote.
// harm: QuoteService::quote and pending_ (charges_)
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
        std::shared_future<int> f;
        {
            std::lock_guard<std::mutex> g(mu_);
            auto it = pending_.find(symbol);
            if (it != pending_.end())
                f = it->second;
        }
        if (!f.valid()) {
            std::promise<int> p;
            f = p.get_future().share();
            {
                std::lock_guard<std::mutex> g(mu_);
                pending_[symbol] = f;
            }
            p.set_value(buy_quote(symbol));
        }
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
    return 0;
}
