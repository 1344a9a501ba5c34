// A ticket is taken from the remaining ones at once, before the sale is entered.
#include <cassert>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

class BoxOffice {
public:
    explicit BoxOffice(int tickets);
    ~BoxOffice();
    bool sell(int customer);
    int remaining() const;
    std::size_t sold() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

struct BoxOffice::Impl {
    mutable std::mutex stock_mu, sales_mu;
    int remaining;
    std::vector<int> sales;
};

BoxOffice::BoxOffice(int tickets) : impl_(std::make_unique<Impl>()) { impl_->remaining = tickets; }
BoxOffice::~BoxOffice() = default;

int BoxOffice::remaining() const {
    std::lock_guard<std::mutex> g(impl_->stock_mu);
    return impl_->remaining;
}

std::size_t BoxOffice::sold() const {
    std::lock_guard<std::mutex> g(impl_->sales_mu);
    return impl_->sales.size();
}

bool BoxOffice::sell(int customer) {
    std::scoped_lock both(impl_->stock_mu, impl_->sales_mu);
    if (impl_->remaining == 0)
        return false;
    impl_->remaining--;
    impl_->sales.push_back(customer);
    return true;
}

int main() {
    constexpr int kShows = 400, kTickets = 60;
    int oversold = 0;
    for (int show = 0; show < kShows; show++) {
        BoxOffice office(kTickets);
        auto counter = [&office](int id) {
            for (int i = 0; i < kTickets && office.remaining() > 0; i++)
                office.sell(id);
        };
        std::thread a(counter, 1), b(counter, 2);
        a.join();
        b.join();
        oversold += office.sold() != kTickets || office.remaining() != 0;
    }
    std::printf("oversold shows %d: %s\n", oversold, oversold ? "WRONG" : "ok");
    assert(oversold == 0);
    return 0;
}
