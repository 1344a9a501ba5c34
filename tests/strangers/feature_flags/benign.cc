// A flag that is already as wanted is left alone after a look; otherwise it is switched by fetch_or or fetch_and.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <thread>

enum class Feature : unsigned { Search, Chat, Billing, DarkMode };

class FlagSet {
public:
    void enable(Feature f) {
        if (!on(f))
            bits_.fetch_or(mask(f));
    }

    void disable(Feature f) {
        if (on(f))
            bits_.fetch_and(~mask(f));
    }

    bool on(Feature f) const { return bits_.load() & mask(f); }

private:
    static constexpr std::uint32_t mask(Feature f) { return 1u << static_cast<unsigned>(f); }
    std::atomic<std::uint32_t> bits_{0};
};

int main() {
    FlagSet flags;
    int surprises[2] = {};
    std::atomic<int> ready{0};
    // each operator owns one feature and expects to find it as he left it
    auto operate = [&](int id, Feature mine) {
        ready++;
        while (ready < 2)
            std::this_thread::yield();
        for (int i = 0; i < 200000; i++) {
            flags.enable(mine);
            surprises[id] += !flags.on(mine);
            flags.disable(mine);
            surprises[id] += flags.on(mine);
        }
    };
    std::thread a(operate, 0, Feature::Chat), b(operate, 1, Feature::Billing);
    a.join();
    b.join();
    int n = surprises[0] + surprises[1];
    std::printf("flags that changed by themselves %d: %s\n", n, n ? "WRONG" : "ok");
    assert(n == 0);
    return 0;
}
