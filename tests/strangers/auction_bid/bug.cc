// A lower bid can replace a higher one that was entered after the comparison.
// harm: Auction::bid and best_, bidder_
#include <cassert>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Auction {
public:
    bool bid(const std::string &who, long amount) {
        {
            std::lock_guard<std::mutex> g(mu_);
            if (amount <= best_)
                return false;
        }
        std::string entry = who + ":" + std::to_string(amount);
        std::lock_guard<std::mutex> g(mu_);
        if (amount < best_)
            dropped_++;
        best_ = amount;
        bidder_ = entry;
        return true;
    }

    long dropped() const {
        std::lock_guard<std::mutex> g(mu_);
        return dropped_;
    }

    std::string winner() const {
        std::lock_guard<std::mutex> g(mu_);
        return bidder_;
    }

private:
    mutable std::mutex mu_;
    long best_ = 0;
    long dropped_ = 0;
    std::string bidder_ = "nobody";
};

int main() {
    Auction auction;
    std::vector<std::thread> room;
    for (int b = 0; b < 3; b++)
        room.emplace_back([&auction, b] {
            std::string name = "bidder" + std::to_string(b);
            for (int i = 0; i < 20000; i++)
                auction.bid(name, i * 3 + b);
        });
    for (auto &t : room)
        t.join();
    std::printf("winner %s, higher bids dropped %ld: %s\n", auction.winner().c_str(), auction.dropped(),
                auction.dropped() ? "WRONG" : "ok");
    return 0;
}
