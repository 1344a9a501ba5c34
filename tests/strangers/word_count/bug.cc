// A word's count is fetched with get() and stored with put(), so counts made by another thread in between are lost.
// harm: count_words and ConcurrentMap::map_ (ConcurrentMap::get, ConcurrentMap::put)
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
    void put(const K &k, V v) {
        std::lock_guard<std::mutex> g(mu_);
        map_[k] = std::move(v);
    }

private:
    mutable std::mutex mu_;
    std::unordered_map<K, V> map_;
};

static void count_words(ConcurrentMap<std::string, int> &counts, const std::string &text) {
    std::istringstream in(text);
    std::string word;
    while (in >> word) {
        int n = counts.get(word);
        counts.put(word, n + 1);
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
    return 0;
}
