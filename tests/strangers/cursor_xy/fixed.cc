// A position is set and read as a whole.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

class Cursor {
    mutable std::mutex mu_;
    int x_ = 0, y_ = 0, colour_ = 0;

public:
    void set(int x, int y) {
        std::lock_guard<std::mutex> g(mu_);
        x_ = x;
        y_ = y;
    }
    std::pair<int, int> position() const {
        std::lock_guard<std::mutex> g(mu_);
        return {x_, y_};
    }
    void set_colour(int c) { std::lock_guard<std::mutex> g(mu_); colour_ = c; }
    int colour() const { std::lock_guard<std::mutex> g(mu_); return colour_; }
};

static void move_cursor(Cursor &c, int step) {
    c.set(step, -step); // moves along the diagonal only
}

static bool paint(const Cursor &c) {
    auto [px, py] = c.position();
    return px == -py && c.colour() >= 0;
}

int main() {
    Cursor cursor;
    int off = 0;
    std::thread mouse([&] {
        for (int i = 0; i < 50000; i++)
            move_cursor(cursor, i);
    });
    std::thread screen([&] {
        for (int i = 0; i < 50000; i++)
            off += !paint(cursor);
    });
    mouse.join();
    screen.join();
    std::printf("frames off the diagonal %d: %s\n", off, off ? "WRONG" : "ok");
    assert(off == 0);
    return 0;
}
