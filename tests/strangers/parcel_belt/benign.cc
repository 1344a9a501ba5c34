// The count is raised after the parcel lies on the belt, so it never promises too much.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

class Belt {
public:
    void load(int weight) {
        {
            std::lock_guard<std::mutex> g(mu_);
            parcels_.push_back(weight);
        }
        waiting_.fetch_add(1);
    }

    bool claim() {
        int n = waiting_.load();
        while (n > 0)
            if (waiting_.compare_exchange_weak(n, n - 1))
                return true;
        return false;
    }

    int unload() {
        std::lock_guard<std::mutex> g(mu_);
        if (parcels_.empty())
            return -1;
        int w = parcels_.front();
        parcels_.pop_front();
        return w;
    }

private:
    std::mutex mu_;
    std::deque<int> parcels_;
    std::atomic<int> waiting_{0};
};

int main() {
    constexpr int kParcels = 30000;
    Belt belt;
    int empty_handed = 0;
    long weight = 0;
    std::thread loader([&] {
        for (int i = 0; i < kParcels; i++)
            belt.load(1);
    });
    std::thread unloader([&] {
        for (int taken = 0; taken < kParcels;) {
            if (!belt.claim())
                continue;
            taken++;
            int w = belt.unload();
            if (w < 0)
                empty_handed++;
            else
                weight += w;
        }
    });
    loader.join();
    unloader.join();
    std::printf("weight %ld, empty-handed %d: %s\n", weight, empty_handed, empty_handed ? "WRONG" : "ok");
    assert(empty_handed == 0 && weight == kParcels);
    return 0;
}
