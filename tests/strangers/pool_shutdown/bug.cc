// A task can be accepted after the pool has been drained, and then nobody ever runs it.
// harm: TaskPool::submit and stopped_, tasks_ (TaskPool::shutdown)
#include <atomic>
#include <cassert>
#include <cstdio>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>

class TaskPool {
public:
    bool submit(std::function<void()> fn) {
        if (is_stopped())
            return false;
        std::lock_guard<std::mutex> g(mu_);
        tasks_.push(std::move(fn));
        return true;
    }

    void shutdown() {
        std::queue<std::function<void()>> rest;
        {
            std::lock_guard<std::mutex> g(mu_);
            stopped_ = true;
            rest.swap(tasks_);
        }
        for (; !rest.empty(); rest.pop())
            rest.front()();
    }

    bool is_stopped() const {
        std::lock_guard<std::mutex> g(mu_);
        return stopped_;
    }

private:
    mutable std::mutex mu_;
    bool stopped_ = false;
    std::queue<std::function<void()>> tasks_;
};

int main() {
    constexpr int kPools = 1000;
    long accepted = 0, ran = 0;
    for (int i = 0; i < kPools; i++) {
        TaskPool pool;
        std::atomic<int> done{0}, sent{0};
        std::thread client([&] {
            for (int k = 0; k < 40 && pool.submit([&done] { done++; }); k++)
                sent++;
        });
        while (sent.load() < 3)
            std::this_thread::yield();
        pool.shutdown();
        client.join();
        accepted += sent;
        ran += done;
    }
    std::printf("accepted %ld, ran %ld: %s\n", accepted, ran, accepted == ran ? "ok" : "WRONG");
    return 0;
}
