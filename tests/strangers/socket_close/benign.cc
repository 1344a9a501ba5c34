// The test is a shortcut; send() reports a closed connection by its result, and the caller copes with it.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

class Connection {
public:
    bool is_open() const {
        std::lock_guard<std::mutex> g(mu_);
        return open_;
    }

    bool try_send(const std::string &msg) {
        std::lock_guard<std::mutex> g(mu_);
        if (!open_)
            return false;
        bytes_ += msg.size();
        return true;
    }

    void close() {
        std::lock_guard<std::mutex> g(mu_);
        open_ = false;
    }

    void reopen() {
        std::lock_guard<std::mutex> g(mu_);
        open_ = true;
    }

    std::size_t bytes() const {
        std::lock_guard<std::mutex> g(mu_);
        return bytes_;
    }

private:
    mutable std::mutex mu_;
    bool open_ = true;
    std::size_t bytes_ = 0;
};

static bool heartbeat(Connection &c, int seq) {
    if (!c.is_open())
        return false;
    return c.try_send("ping " + std::to_string(seq));
}

int main() {
    Connection conn;
    int beats = 0;
    std::thread pinger([&] {
        for (int i = 0; i < 50000; i++)
            beats += heartbeat(conn, i);
    });
    std::thread network([&] {
        for (int i = 0; i < 50000; i++) {
            conn.close();
            conn.reopen();
        }
    });
    pinger.join();
    network.join();
    std::printf("beats %d, bytes %zu\n", beats, conn.bytes());
    assert(conn.bytes() >= static_cast<std::size_t>(beats) * 6);
    return 0;
}
