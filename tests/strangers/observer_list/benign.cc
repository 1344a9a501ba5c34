// The notifier works on a copy, but a listener checks its own closed flag under its own lock and ignores late calls.
#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

class Listener {
    std::mutex mu_;
    bool closed_ = false;
    int events_ = 0, late_ = 0;

public:
    void on_event() {
        std::lock_guard<std::mutex> g(mu_);
        if (closed_)
            return;
        if (closed_)
            late_++;
        events_++;
    }
    void close() {
        std::lock_guard<std::mutex> g(mu_);
        closed_ = true;
    }
    int late() {
        std::lock_guard<std::mutex> g(mu_);
        return late_;
    }
};

class Subject {
    std::mutex mu_;
    std::vector<std::shared_ptr<Listener>> listeners_;

public:
    void add(std::shared_ptr<Listener> l) {
        std::lock_guard<std::mutex> g(mu_);
        listeners_.push_back(std::move(l));
    }
    void remove(const std::shared_ptr<Listener> &l) {
        std::lock_guard<std::mutex> g(mu_);
        listeners_.erase(std::remove(listeners_.begin(), listeners_.end(), l), listeners_.end());
    }
    void notify() {
        std::vector<std::shared_ptr<Listener>> copy;
        {
            std::lock_guard<std::mutex> g(mu_);
            copy = listeners_;
        }
        for (auto &l : copy)
            l->on_event();
    }
};

int main() {
    Subject subject;
    int late = 0;
    std::atomic<bool> done{false};
    std::vector<std::shared_ptr<Listener>> closed;
    std::thread notifier([&] {
        while (!done)
            subject.notify();
    });
    std::thread window([&] {
        for (int i = 0; i < 20000; i++) {
            auto l = std::make_shared<Listener>();
            subject.add(l);
            subject.remove(l);
            l->close();
            closed.push_back(l);
        }
        done = true;
    });
    notifier.join();
    window.join();
    for (auto &l : closed)
        late += l->late();
    std::printf("events after close %d: %s\n", late, late ? "WRONG" : "ok");
    assert(late == 0);
    return 0;
}
