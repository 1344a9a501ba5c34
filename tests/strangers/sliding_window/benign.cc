// A full window refuses early; otherwise the window is tested again in the section that records the request.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

class RateWindow {
public:
    RateWindow(std::size_t limit, long span) : limit_(limit), span_(span) {}

    bool allow(long now) {
        if (recent(now) >= limit_)
            return false;
        std::lock_guard<std::mutex> g(mu_);
        expire(now);
        if (stamps_.size() >= limit_)
            return false;
        stamps_.push_back(now);
        if (stamps_.size() > worst_)
            worst_ = stamps_.size();
        return true;
    }

    std::size_t recent(long now) {
        std::lock_guard<std::mutex> g(mu_);
        expire(now);
        return stamps_.size();
    }

    std::size_t worst() const {
        std::lock_guard<std::mutex> g(mu_);
        return worst_;
    }

private:
    void expire(long now) {
        while (!stamps_.empty() && stamps_.front() + span_ <= now)
            stamps_.pop_front();
    }

    const std::size_t limit_;
    const long span_;
    mutable std::mutex mu_;
    std::deque<long> stamps_;
    std::size_t worst_ = 0;
};

int main() {
    RateWindow window(4, 4);
    std::atomic<long> clock{0};
    std::vector<std::thread> clients;
    for (int c = 0; c < 3; c++)
        clients.emplace_back([&] {
            for (int i = 0; i < 30000; i++)
                window.allow(clock.fetch_add(1) / 2);
        });
    for (auto &c : clients)
        c.join();
    std::printf("worst window %zu of 4: %s\n", window.worst(), window.worst() > 4 ? "WRONG" : "ok");
    assert(window.worst() <= 4);
    return 0;
}
