// The plugin is visible in the registry before its name table is filled in, and a caller finds no handler in it.
// harm: Registry::load and Plugin::handler_ (plugins_)
#include <cassert>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

class Plugin {
public:
    void init(int id) {
        std::lock_guard<std::mutex> g(mu_);
        handler_ = [id](int x) { return x + id; };
        ready_ = true;
    }
    bool ready() const {
        std::lock_guard<std::mutex> g(mu_);
        return ready_;
    }
    int call(int x) const {
        std::function<int(int)> h;
        {
            std::lock_guard<std::mutex> g(mu_);
            h = handler_;
        }
        return h(x); // throws std::bad_function_call when there is no handler
    }

private:
    mutable std::mutex mu_;
    std::function<int(int)> handler_;
    bool ready_ = false;
};

class Registry {
public:
    void load(int id) {
        auto p = std::make_shared<Plugin>();
        {
            std::lock_guard<std::mutex> g(mu_);
            plugins_.push_back(p);
        }
        p->init(id);
    }

    std::shared_ptr<Plugin> newest() const {
        std::lock_guard<std::mutex> g(mu_);
        return plugins_.empty() ? nullptr : plugins_.back();
    }

private:
    mutable std::mutex mu_;
    std::vector<std::shared_ptr<Plugin>> plugins_;
};

int main() {
    Registry reg;
    long answered = 0;
    std::thread loader([&] {
        for (int i = 0; i < 15000; i++)
            reg.load(i);
    });
    std::thread caller([&] {
        for (int i = 0; i < 30000; i++) {
            auto p = reg.newest();
            if (!p)
                continue;
            answered += p->call(1) > 0;
        }
    });
    loader.join();
    caller.join();
    std::printf("answered %ld\n", answered);
    assert(answered <= 30000);
    return 0;
}
