// One call removes the front element and hands it out.
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
    while (auto task = q.take())
        done.push_back(*task);
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
