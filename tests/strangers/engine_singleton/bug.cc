// Two threads can both see no engine and both build one; the earlier one leaks with whatever was registered in it.
// harm: Engine::instance and Engine::instance_
#include <atomic>
#include <barrier>
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

class Engine {
public:
    static Engine *instance() {
        Engine *e = instance_.load();
        if (e == nullptr) {
            e = new Engine;
            instance_.store(e);
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
    return 0;
}
