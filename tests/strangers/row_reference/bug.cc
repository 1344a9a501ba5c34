// A pointer into the table is handed out and used without the lock, while the table may move or reuse the row.
// harm: ScoreTable::find / referee and rows_ (Row::points)
#include <atomic>
#include <cassert>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

struct Row {
    int id;
    long points;
};

class ScoreTable {
public:
    void add_player(int id) {
        std::lock_guard<std::mutex> g(mu_);
        rows_.insert(rows_.begin(), Row{id, 0});
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

    ScoreTable() { rows_.reserve(1000); }

private:
    std::mutex mu_;
    std::vector<Row> rows_;
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
    return 0;
}
