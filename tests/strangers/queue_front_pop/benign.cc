// The front is peeked at only to guess its kind; the element that counts is the one that take() hands out.
#include <cassert>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

class LockedQueue {
    std::mutex m_;
    std::deque<int> q_;

public:
    void push(int v) {
        std::unique_lock<std::mutex> l(m_);
        q_.push_back(v);
    }
    std::optional<int> front() {
        std::unique_lock<std::mutex> l(m_);
        if (q_.empty())
            return {};
        return q_.front();
    }
    std::optional<int> take() {
        std::unique_lock<std::mutex> l(m_);
        if (q_.empty())
            return {};
        int v = q_.front();
        q_.pop_front();
        return v;
    }
};

static void worker(LockedQueue &q, std::vector<int> &done) {
    long urgent = 0;
    while (auto next = q.front()) {
        urgent += *next % 2;
        if (auto task = q.take())
            done.push_back(*task);
    }
    std::printf("about %ld urgent\n", urgent);
}

int main() {
    constexpr int kTasks = 30000;
    LockedQueue q;
    for (int i = 0; i < kTasks; i++)
        q.push(i);
    std::vector<int> d1, d2, times(kTasks, 0);
    std::thread a(worker, std::ref(q), std::ref(d1));
    std::thread b(worker, std::ref(q), std::ref(d2));
    a.join();
    b.join();
    for (auto *d : {&d1, &d2})
        for (int t : *d)
            times[t]++;
    int off = 0;
    for (int n : times)
        off += n != 1;
    std::printf("tasks not run exactly once: %d %s\n", off, off ? "WRONG" : "ok");
    assert(off == 0);
    return 0;
}
