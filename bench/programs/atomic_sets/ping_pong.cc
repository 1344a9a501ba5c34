// ping-pong: a player asks whether the ball is there, plays it, and takes it away; another one
// takes it away in between.

#include <mutex>

#include "twins.h"

class Table {
 public:
  bool play(bool locked) {
    std::unique_lock guard(mutex_, std::defer_lock);
    if (locked) guard.lock();
    if (!ball_) return false;
    if (!locked) twins::interrupted();
    ++hits_;
    ball_ = false;
    return true;
  }
  void serve() {
    const std::lock_guard guard(mutex_);
    ball_ = true;
  }

 private:
  std::mutex mutex_;
  bool ball_ = true;
  int hits_ = 0;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Table table;
  std::thread player([&] { table.play(fixed); });
  twins::wait_for_turn();
  table.play(true);
  table.serve();
  twins::turn_over();
  player.join();
}
