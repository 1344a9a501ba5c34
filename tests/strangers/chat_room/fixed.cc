// Leaving and removing the empty room are one section.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>

class Lobby {
public:
    void join(const std::string &room, int user) {
        std::lock_guard<std::mutex> g(mu_);
        rooms_[room].insert(user);
    }

    bool leave(const std::string &room, int user) {
        std::lock_guard<std::mutex> g(mu_);
        auto it = rooms_.find(room);
        if (it == rooms_.end())
            return false;
        bool was_member = it->second.erase(user) > 0;
        if (it->second.empty())
            rooms_.erase(it);
        return was_member;
    }

private:
    std::mutex mu_;
    std::unordered_map<std::string, std::set<int>> rooms_;
};

int main() {
    Lobby lobby;
    int thrown_out[3] = {};
    auto chatter = [&](int id) {
        for (int i = 0; i < 15000; i++) {
            lobby.join("threads", id);
            if (!lobby.leave("threads", id))
                thrown_out[id]++;
        }
    };
    std::thread a(chatter, 0), b(chatter, 1), c(chatter, 2);
    a.join();
    b.join();
    c.join();
    int n = thrown_out[0] + thrown_out[1] + thrown_out[2];
    std::printf("members that vanished %d: %s\n", n, n ? "WRONG" : "ok");
    assert(n == 0);
    return 0;
}
