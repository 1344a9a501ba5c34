// The sweeper lists expired keys first and erases them later, removing entries that were renewed in between.
// harm: TextureCache::sweep and entries_
#include <atomic>
#include <cassert>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

struct Texture {
    int id;
};

class TextureCache {
public:
    std::shared_ptr<Texture> load(int id) {
        std::lock_guard<std::mutex> g(mu_);
        auto &slot = entries_[id];
        auto tex = slot.lock();
        if (!tex) {
            tex = std::make_shared<Texture>(Texture{id});
            slot = tex;
        }
        return tex;
    }

    void sweep() {
        std::vector<int> dead;
        {
            std::lock_guard<std::mutex> g(mu_);
            for (auto &[id, w] : entries_)
                if (w.expired())
                    dead.push_back(id);
        }
        std::lock_guard<std::mutex> g(mu_);
        for (int id : dead)
            entries_.erase(id);
    }

private:
    std::mutex mu_;
    std::unordered_map<int, std::weak_ptr<Texture>> entries_;
};

int main() {
    TextureCache cache;
    std::atomic<bool> quit{false};
    int twice = 0;
    std::thread janitor([&] {
        while (!quit)
            cache.sweep();
    });
    std::thread renderer([&] {
        for (int i = 0; i < 40000; i++) {
            auto first = cache.load(i % 5);
            auto second = cache.load(i % 5);
            twice += first != second; // one texture, loaded twice onto the card
        }
        quit = true;
    });
    renderer.join();
    janitor.join();
    std::printf("textures held twice %d: %s\n", twice, twice ? "WRONG" : "ok");
    return 0;
}
