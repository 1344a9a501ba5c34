// The map offers a conditional replace, and counting tries again until its replace has gone through.
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
    bool replace(const K &k, const V &expected, V v) {
        std::lock_guard<std::mutex> g(mu_);
        V &cur = map_[k];
        if (!(cur == expected))
            return false;
        cur = std::move(v);
        return true;
    }

private:
    mutable std::mutex mu_;
    std::unordered_map<K, V> map_;
};

static void count_words(ConcurrentMap<std::string, int> &counts, const std::string &text) {
    std::istringstream in(text);
    std::string word;
    while (in >> word) {
        for (;;) {
            int n = counts.get(word);
            if (counts.replace(word, n, n + 1))
                break;
        }
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
