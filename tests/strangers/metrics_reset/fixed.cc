// Reading and zeroing are one exchange.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

class Metrics {
public:
    void hit() { requests_.fetch_add(1); }

    long export_and_reset(std::string &line) {
        long n = requests_.exchange(0);
        line = "requests=" + std::to_string(n);
        return n;
    }

private:
    std::atomic<long> requests_{0};
};

int main() {
    constexpr int kHits = 50000;
    Metrics metrics;
    std::atomic<int> serving{2};
    long exported = 0;
    auto server = [&] {
        for (int i = 0; i < kHits; i++)
            metrics.hit();
        serving--;
    };
    std::thread exporter([&] {
        std::string line;
        while (serving > 0)
            exported += metrics.export_and_reset(line);
        exported += metrics.export_and_reset(line);
    });
    std::thread s1(server), s2(server);
    s1.join();
    s2.join();
    exporter.join();
    std::printf("exported %ld of %d: %s\n", exported, 2 * kHits, exported == 2 * kHits ? "ok" : "WRONG");
    assert(exported == 2 * kHits);
    return 0;
}
