// Each bound only moves outward from the middle, so no check against the other is needed.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <thread>

class Range {
public:
    bool set_lower(int v) {
        int clamped = v < 50 ? v : 50;
        if (lower_.load() != clamped)
            lower_.store(clamped);
        return clamped == v;
    }
    bool set_upper(int v) {
        int clamped = v > 50 ? v : 50;
        if (upper_.load() != clamped)
            upper_.store(clamped);
        return clamped == v;
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
    assert(range.lower() <= range.upper());
    assert(turned.load() == 0);
    return 0;
}
