// Setting the lower bound checks the upper bound only before the store, so the range can end up turned over.
// harm: Range::set_lower, Range::set_upper and lower_, upper_
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <thread>

class Range {
public:
    bool set_lower(int v) {
        if (v > upper_.load())
            return false;
        lower_.store(v);
        return true;
    }
    bool set_upper(int v) {
        if (v < lower_.load())
            return false;
        upper_.store(v);
        return true;
    }
    int lower() const { return lower_.load(); }
    int upper() const { return upper_.load(); }

private:
    std::atomic<int> lower_{0}, upper_{100};
};

int main() {
    Range range;
    std::atomic<int> turned{0}, running{0};
    auto meet = [&] {
        running.fetch_add(1);
        while (running.load() < 2)
            std::this_thread::yield();
    };
    auto look = [&] {
        // the lower bound is re-read so that a change between the two reads is not mistaken for a bad range
        int lo = range.lower(), hi = range.upper();
        if (lo > hi && range.lower() == lo && range.upper() == hi)
            turned.fetch_add(1);
    };
    std::thread a([&] {
        meet();
        for (int i = 0; i < 40000; i++) {
            range.set_lower(80);
            look();
            range.set_lower(10);
        }
    });
    std::thread b([&] {
        meet();
        for (int i = 0; i < 40000; i++) {
            range.set_upper(20);
            range.set_upper(90);
        }
    });
    a.join();
    b.join();
    std::printf("turned-over ranges %d: %s\n", turned.load(), turned.load() ? "WRONG" : "ok");
    return 0;
}
