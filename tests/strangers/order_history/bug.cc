// The order number is drawn in one section and the order appended in another, so the history is not in number order.
// harm: OrderBook::place and history_, next_number_
#include <algorithm>
#include <cassert>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Order {
    long number;
    std::string customer;
};

class OrderBook {
public:
    long place(const std::string &customer) {
        long n = draw_number();
        append(Order{n, customer});
        return n;
    }

    std::vector<Order> report() const {
        std::lock_guard<std::mutex> g(mu_);
        auto copy = history_;
        return copy;
    }

private:
    long draw_number() {
        std::lock_guard<std::mutex> g(mu_);
        return next_number_++;
    }
    void append(Order o) {
        std::lock_guard<std::mutex> g(mu_);
        history_.push_back(std::move(o));
    }

    mutable std::mutex mu_;
    long next_number_ = 1;
    std::vector<Order> history_;
};

int main() {
    OrderBook book;
    auto till = [&book](const char *who) {
        for (int i = 0; i < 100000; i++)
            book.place(who);
    };
    std::thread a(till, "ann"), b(till, "bob");
    a.join();
    b.join();
    auto all = book.report();
    int swapped = 0;
    for (std::size_t i = 1; i < all.size(); i++)
        swapped += all[i - 1].number > all[i].number;
    std::printf("%zu orders, out of order %d: %s\n", all.size(), swapped, swapped ? "WRONG" : "ok");
    return 0;
}
