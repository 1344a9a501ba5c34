// Double-checked creation: acquire load outside, second look under the mutex, release store.
#include <atomic>
#include <barrier>
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

class Engine {
public:
    static Engine *instance() {
        Engine *e = instance_.load(std::memory_order_acquire);
        if (e == nullptr) {
            std::lock_guard<std::mutex> g(create_mu_);
            e = instance_.load(std::memory_order_relaxed);
            if (e == nullptr) {
                e = new Engine;
                instance_.store(e, std::memory_order_release);
            }
        }
        return e;
    }

    static void reset() { delete instance_.exchange(nullptr); }

    static int created() { return created_.load(); }

private:
    Engine() {
        created_.fetch_add(1);
        for (double &w : weights_)
            w = 1.0 / (1 + (&w - weights_));
    }

    double weights_[64];
    static inline std::atomic<Engine *> instance_{nullptr};
    static inline std::atomic<int> created_{0};
    static inline std::mutex create_mu_;
};

int main() {
    constexpr int kRounds = 3000;
    Engine *got[2] = {};
    int split = 0;
    auto check = [&]() noexcept {
        if (got[0] != nullptr && got[1] != nullptr) {
            split += got[0] != got[1];
            Engine::reset();
        }
    };
    std::barrier sync(2, check);
    auto user = [&](int id) {
        for (int r = 0; r < kRounds; r++) {
            got[id] = Engine::instance();
            sync.arrive_and_wait();
        }
    };
    std::thread a(user, 0), b(user, 1);
    a.join();
    b.join();
    std::printf("engines %d, rounds %d, split %d: %s\n", Engine::created(), kRounds, split,
                Engine::created() == kRounds ? "ok" : "WRONG");
    assert(Engine::created() == kRounds && split == 0);
    return 0;
}
