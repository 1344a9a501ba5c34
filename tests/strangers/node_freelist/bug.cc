// The head index may come back to the same value with a different successor, and the compare-and-swap does not notice.
// harm: FreeList::pop and head_ (next_)
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

constexpr int kNodes = 4;
constexpr std::uint32_t kNil = 0xffff;

class FreeList {
public:
    FreeList() {
        for (std::uint32_t i = 0; i < kNodes; i++)
            next_[i] = i + 1 < kNodes ? i + 1 : kNil;
        head_ = 0;
    }
    std::uint32_t pop() {
        std::uint64_t h = head_.load();
        while (h != kNil) {
            std::uint32_t n = next_[h].load();
            if (head_.compare_exchange_strong(h, n))
                return std::uint32_t(h);
        }
        return kNil;
    }
    void push(std::uint32_t i) {
        std::uint64_t h = head_.load();
        do {
            next_[i].store(std::uint32_t(h));
        } while (!head_.compare_exchange_weak(h, i));
    }

private:
    std::atomic<std::uint64_t> head_;
    std::array<std::atomic<std::uint32_t>, kNodes> next_;
};

int main() {
    FreeList list;
    std::array<std::atomic<int>, kNodes> users{};
    std::atomic<int> shared{0};
    auto worker = [&] {
        for (int i = 0; i < 200000; i++) {
            std::uint32_t a = list.pop(), b = list.pop();
            for (std::uint32_t n : {a, b})
                if (n != kNil && users[n].fetch_add(1) != 0)
                    shared++;
            for (std::uint32_t n : {a, b})
                if (n != kNil && users[n].fetch_sub(1) == 1)
                    list.push(n);
        }
    };
    std::thread t1(worker), t2(worker), t3(worker);
    t1.join();
    t2.join();
    t3.join();
    std::printf("nodes with two users: %d %s\n", shared.load(), shared.load() ? "WRONG" : "ok");
    return 0;
}
