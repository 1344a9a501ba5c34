// The session is charged while the map is locked.
#include <cassert>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

struct Session {
    std::mutex mu;
    long units = 0;
    bool closed = false;
};

class Sessions {
    std::mutex mu_;
    std::unordered_map<int, std::shared_ptr<Session>> open_;
    long billed_ = 0;

public:
    void charge(int user, long units) {
        std::lock_guard<std::mutex> g(mu_);
        auto &slot = open_[user];
        if (!slot)
            slot = std::make_shared<Session>();
        std::lock_guard<std::mutex> gs(slot->mu);
        slot->units += units;
    }

    void close(int user) {
        std::shared_ptr<Session> s;
        std::lock_guard<std::mutex> g(mu_);
        if (auto it = open_.find(user); it != open_.end()) {
            s = it->second;
            open_.erase(it);
            std::lock_guard<std::mutex> gs(s->mu);
            s->closed = true;
            billed_ += s->units;
        }
    }

    long billed() {
        std::lock_guard<std::mutex> g(mu_);
        return billed_;
    }
};

int main() {
    Sessions sessions;
    auto traffic = [&] {
        for (int i = 0; i < 100000; i++)
            sessions.charge(i % 3, 1);
    };
    std::thread t1(traffic), t2(traffic), closer([&] {
        for (int i = 0; i < 100000; i++)
            sessions.close(i % 3);
    });
    t1.join();
    t2.join();
    closer.join();
    for (int u = 0; u < 3; u++)
        sessions.close(u);
    long got = sessions.billed();
    std::printf("billed %ld of 200000: %s\n", got, got == 200000 ? "ok" : "WRONG");
    assert(got == 200000);
    return 0;
}
