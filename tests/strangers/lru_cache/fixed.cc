// List and index are changed together.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <list>
#include <mutex>
#include <thread>
#include <unordered_map>

class LruCache {
public:
    explicit LruCache(std::size_t cap) : cap_(cap) {}

    void put(int key, int value) {
        std::lock_guard<std::mutex> g(mu_);
        if (index_.count(key))
            return;
        order_.push_front(key);
        index_[key] = value;
        evict();
    }

    bool has(int key) {
        std::lock_guard<std::mutex> g(mu_);
        return index_.count(key) != 0;
    }

    bool consistent() {
        std::lock_guard<std::mutex> g(mu_);
        return order_.size() == index_.size();
    }

private:
    void evict() {
        while (order_.size() > cap_) {
            index_.erase(order_.back());
            order_.pop_back();
        }
    }

    std::size_t cap_;
    std::mutex mu_;
    std::list<int> order_;
    std::unordered_map<int, int> index_;
};

int main() {
    LruCache cache(2);
    long found[3] = {};
    auto client = [&](int id) {
        for (int i = 0; i < 12000; i++) {
            cache.put((i * 7 + id * 3) % 11, i);
            found[id] += cache.has(i % 11);
        }
    };
    std::thread a(client, 0), b(client, 1), c(client, 2);
    a.join();
    b.join();
    c.join();
    bool ok = cache.consistent();
    std::printf("found %ld, list and index agree: %s\n", found[0] + found[1] + found[2], ok ? "ok" : "WRONG");
    assert(ok);
    return 0;
}
