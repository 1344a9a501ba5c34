// The cursor is moved by setting x and y with two calls, and the painter can draw it at a place it never was.
// harm: move_cursor (or paint) and Cursor::x_, Cursor::y_
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

class Cursor {
    mutable std::mutex mu_;
    int x_ = 0, y_ = 0, colour_ = 0;

public:
    void set_x(int x) { std::lock_guard<std::mutex> g(mu_); x_ = x; }
    void set_y(int y) { std::lock_guard<std::mutex> g(mu_); y_ = y; }
    int x() const { std::lock_guard<std::mutex> g(mu_); return x_; }
    int y() const { std::lock_guard<std::mutex> g(mu_); return y_; }
    void set_colour(int c) { std::lock_guard<std::mutex> g(mu_); colour_ = c; }
    int colour() const { std::lock_guard<std::mutex> g(mu_); return colour_; }
};

static void move_cursor(Cursor &c, int step) {
    c.set_x(step);
    c.set_y(-step); // moves along the diagonal only
    c.set_colour(step % 8);
}

static bool paint(const Cursor &c) {
    int px = c.x();
    int py = c.y();
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
    return 0;
}
