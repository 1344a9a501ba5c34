// The sum is added before the count, each atomically, so a reader may divide a newer sum by an older count.
// harm: Monitor::add (or Monitor::mean) and sum_, count_
#include <atomic>
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

struct Monitor {
    std::atomic<long> sum_{0};
    std::atomic<long> count_{0};

    void add(long v) {
        sum_ += v;
        count_ += 1;
    }

    double mean() const {
        long n = count_;
        long s = sum_;
        return n ? double(s) / double(n) : 10.0;
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
    return 0;
}
