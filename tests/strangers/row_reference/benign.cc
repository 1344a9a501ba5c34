// Rows live in a deque that only grows, and each row's points are atomic, so a row pointer stays good without the lock.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

struct Row {
    int id;
    std::atomic<long> points;
    Row(int i, long p) : id(i), points(p) {}
};

class ScoreTable {
public:
    void add_player(int id) {
        std::lock_guard<std::mutex> g(mu_);
        rows_.emplace_back(id, 0);
    }

    Row *find(int id) {
        std::lock_guard<std::mutex> g(mu_);
        for (Row &r : rows_)
            if (r.id == id)
                return &r;
        return nullptr;
    }

    long points_of(int id) {
        std::lock_guard<std::mutex> g(mu_);
        for (Row &r : rows_)
            if (r.id == id)
                return r.points;
        return -1;
    }


private:
    std::mutex mu_;
    std::deque<Row> rows_;
};

static void referee(ScoreTable &table) {
    for (int i = 0; i < 30000; i++) {
        if (Row *r = table.find(0))
            r->points += 1;
    }
}

int main() {
    ScoreTable table;
    table.add_player(0);
    std::thread ref(referee, std::ref(table));
    std::thread desk([&table] {
        for (int id = 1; id < 600; id++)
            table.add_player(id);
    });
    ref.join();
    desk.join();
    long got = table.points_of(0);
    std::printf("player 0 has %ld of 30000 points: %s\n", got, got == 30000 ? "ok" : "WRONG");
    assert(got == 30000);
    return 0;
}
