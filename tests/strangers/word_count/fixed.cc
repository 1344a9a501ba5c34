// The map offers an update operation that changes the value under the lock.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>

template <class K, class V>
class ConcurrentMap {
public:
    V get(const K &k) const {
        std::lock_guard<std::mutex> g(mu_);
        auto it = map_.find(k);
        return it == map_.end() ? V{} : it->second;
    }
    template <class Fn>
    void update(const K &k, Fn fn) {
        std::lock_guard<std::mutex> g(mu_);
        fn(map_[k]);
    }

private:
    mutable std::mutex mu_;
    std::unordered_map<K, V> map_;
};

static void count_words(ConcurrentMap<std::string, int> &counts, const std::string &text) {
    std::istringstream in(text);
    std::string word;
    while (in >> word) {
        counts.update(word, [](int &n) { n++; });
    }
}

int main() {
    constexpr int kPages = 2500;
    const std::string page = "the cat sat on the mat and the dog sat on the cat";
    ConcurrentMap<std::string, int> counts;
    auto reader = [&] {
        for (int i = 0; i < kPages; i++)
            count_words(counts, page);
    };
    std::thread a(reader), b(reader), c(reader);
    a.join();
    b.join();
    c.join();
    int the = counts.get("the"), want = 3 * kPages * 4;
    std::printf("'the' counted %d of %d: %s\n", the, want, the == want ? "ok" : "WRONG");
    assert(the == want);
    return 0;
}
