// The last user leaves and the driver is torn down a moment later, although a new user has come meanwhile.
// harm: Driver::release and users_, open_ (Driver::acquire)
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

class Driver {
public:
    static Driver &get() {
        static Driver d;
        return d;
    }

    void acquire() {
        std::lock_guard<std::mutex> g(mu_);
        if (users_++ == 0)
            open_ = true;
    }

    void release() {
        bool last;
        {
            std::lock_guard<std::mutex> g(mu_);
            last = --users_ == 0;
        }
        if (last)
            teardown();
    }

    bool usable() {
        std::lock_guard<std::mutex> g(mu_);
        return open_;
    }

private:
    void teardown() {
        std::lock_guard<std::mutex> g(mu_);
        open_ = false;
    }

    std::mutex mu_;
    int users_ = 0;
    bool open_ = false;
};

static void client(int *broken) {
    for (int i = 0; i < 40000; i++) {
        Driver::get().acquire();
        if (!Driver::get().usable())
            ++*broken;
        Driver::get().release();
    }
}

int main() {
    int broken[2] = {};
    std::thread a(client, &broken[0]), b(client, &broken[1]);
    a.join();
    b.join();
    int n = broken[0] + broken[1];
    std::printf("uses of a closed driver %d: %s\n", n, n ? "WRONG" : "ok");
    return 0;
}
