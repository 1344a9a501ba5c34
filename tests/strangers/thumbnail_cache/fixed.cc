// The look-up, the insertion and the charge are one critical section.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

struct ThumbnailCache {
    std::mutex mu_;
    std::unordered_map<int, std::string> cache_;
    std::size_t bytes_used_ = 0;

    static std::string render(int id) { return std::string(10 + id % 50, char('a' + id % 26)); }

    std::string get(int id) {
        std::lock_guard g(mu_);
        auto it = cache_.find(id);
        if (it == cache_.end()) {
            it = cache_.emplace(id, render(id)).first;
            bytes_used_ += it->second.size();
        }
        return it->second;
    }

    std::size_t recount() {
        std::lock_guard g(mu_);
        std::size_t n = 0;
        for (auto &kv : cache_)
            n += kv.second.size();
        return n;
    }
};

int main() {
    ThumbnailCache cache;
    auto browse = [&cache](std::size_t *shown) {
        for (int id = 0; id < 8000; id++)
            *shown += cache.get(id).size();
    };
    std::size_t a = 0, b = 0;
    std::thread t1(browse, &a), t2(browse, &b);
    t1.join();
    t2.join();
    std::size_t real = cache.recount();
    std::printf("charged %zu, really held %zu: %s\n", cache.bytes_used_, real,
                cache.bytes_used_ == real ? "ok" : "WRONG");
    assert(cache.bytes_used_ == real && a == b);
    return 0;
}
