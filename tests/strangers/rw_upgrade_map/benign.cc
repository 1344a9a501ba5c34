// The shared lock serves only the common case; the exclusive section uses try_emplace, which keeps an existing topic.
#include <cassert>
#include <cstdio>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Topic {
    std::mutex mu;
    std::vector<int> subscribers;
};

class Broker {
    mutable std::shared_mutex rw_;
    std::unordered_map<std::string, std::shared_ptr<Topic>> topics_;

public:
    void subscribe(const std::string &name, int who) {
        std::shared_ptr<Topic> topic;
        {
            std::shared_lock<std::shared_mutex> r(rw_);
            auto it = topics_.find(name);
            if (it != topics_.end())
                topic = it->second;
        }
        if (!topic) {
            auto fresh = std::make_shared<Topic>();
            std::unique_lock<std::shared_mutex> w(rw_);
            topic = topics_.try_emplace(name, fresh).first->second;
        }
        std::lock_guard<std::mutex> g(topic->mu);
        topic->subscribers.push_back(who);
    }

    std::size_t subscriptions() const {
        std::shared_lock<std::shared_mutex> r(rw_);
        std::size_t n = 0;
        for (auto &[name, t] : topics_) {
            std::lock_guard<std::mutex> g(t->mu);
            n += t->subscribers.size();
        }
        return n;
    }
};

int main() {
    constexpr int kTopics = 5000;
    Broker broker;
    auto client = [&broker](int id) {
        for (int i = 0; i < kTopics; i++)
            broker.subscribe("news/" + std::to_string(i), id);
    };
    std::thread a(client, 1), b(client, 2);
    a.join();
    b.join();
    auto n = broker.subscriptions();
    std::printf("%zu subscriptions of %d: %s\n", n, 2 * kTopics, n == 2 * kTopics ? "ok" : "WRONG");
    assert(n == 2 * kTopics);
    return 0;
}
