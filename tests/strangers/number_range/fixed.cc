// Both bounds live in one immutable pair replaced by compare-and-swap.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <thread>

class Range {
public:
    bool set_lower(int v) {
        std::uint64_t cur = both_.load();
        do {
            if (v > int(std::uint32_t(cur)))
                return false;
        } while (!both_.compare_exchange_weak(cur, pack(v, int(std::uint32_t(cur)))));
        return true;
    }
    bool set_upper(int v) {
        std::uint64_t cur = both_.load();
        do {
            if (v < int(cur >> 32))
                return false;
        } while (!both_.compare_exchange_weak(cur, pack(int(cur >> 32), v)));
        return true;
    }
    int lower() const { return int(both_.load() >> 32); }
    int upper() const { return int(std::uint32_t(both_.load())); }

private:
    static std::uint64_t pack(int lo, int hi) { return std::uint64_t(std::uint32_t(lo)) << 32 | std::uint32_t(hi); }
    std::atomic<std::uint64_t> both_{pack(0, 100)};
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
    return 0;
}
