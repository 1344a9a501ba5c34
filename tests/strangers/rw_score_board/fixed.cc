// The score is raised under the exclusive lock.
#include <array>
#include <cassert>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

class ScoreBoard {
public:
    static constexpr int kPlayers = 3;

    int score(int player) const {
        std::shared_lock lock(mutex_);
        return scores_[player];
    }

    bool registered(int player) const {
        std::shared_lock lock(mutex_);
        return player >= 0 && player < kPlayers && scores_[player] >= 0;
    }

    void award(int player, int points) {
        if (!registered(player))
            return;
        std::unique_lock lock(mutex_);
        scores_[player] += points;
    }

private:
    mutable std::shared_mutex mutex_;
    std::array<int, kPlayers> scores_{};
};

int main() {
    ScoreBoard board;
    std::vector<std::thread> referees;
    for (int r = 0; r < 3; r++) {
        referees.emplace_back([&board] {
            for (int i = 0; i < 9000; i++)
                board.award(i % ScoreBoard::kPlayers, 1);
        });
    }
    for (auto &r : referees)
        r.join();
    int sum = 0;
    for (int p = 0; p < ScoreBoard::kPlayers; p++)
        sum += board.score(p);
    std::cout << "points " << sum << " of 27000: " << (sum == 27000 ? "ok" : "WRONG") << "\n";
    assert(sum == 27000);
    return 0;
}
