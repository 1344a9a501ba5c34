// Sum and count are updated and read under one lock.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

struct Monitor {
    mutable std::mutex mu_;
    long sum_ = 0;
    long count_ = 0;

    void add(long v) {
        std::lock_guard lk(mu_);
        sum_ += v;
        count_ += 1;
    }

    double mean() const {
        std::lock_guard lk(mu_);
        return count_ ? double(sum_) / double(count_) : 10.0;
    }
};

int main() {
    Monitor mon;
    std::atomic<bool> done{false};
    long odd = 0;
    std::thread reader([&] {
        while (!done) {
            double m = mon.mean(); // every sample is 10
            if (m != 10.0)
                odd++;
        }
    });
    std::thread w1([&] {
        for (int i = 0; i < 150000; i++)
            mon.add(10);
    });
    std::thread w2([&] {
        for (int i = 0; i < 150000; i++)
            mon.add(10);
    });
    w1.join();
    w2.join();
    done = true;
    reader.join();
    std::printf("impossible means %ld: %s\n", odd, odd ? "WRONG" : "ok");
    assert(odd == 0);
    return 0;
}
