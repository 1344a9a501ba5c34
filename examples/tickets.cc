// Sells the seats of a hall at two counters. A single seat is sold in one critical section; seats
// for a group are counted in one and taken in the next, and in between the customers pay. Whoever
// has only seen single seats being sold will believe that sell() is atomic.
//
//   syndrome c++ -g -std=c++20 -pthread tickets.cc -o tickets
//   syndrome refine -o tickets.toml -- ./tickets      learn from single seats
//   syndrome record -o groups.syn -- ./tickets 4      sell to groups of four
//   syndrome check --check atomicity --spec tickets.toml groups.syn   sell() is not atomic

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

class Hall {
 public:
  explicit Hall(int seats) : free_(seats) {}

  bool sell(int seats) {
    if (seats == 1) {
      const std::lock_guard guard(mutex_);
      if (free_ == 0) return false;
      --free_;
      return true;
    }
    if (free_seats() < seats) return false;
    pay();
    take(seats);
    return true;
  }

  int free_seats() {
    const std::lock_guard guard(mutex_);
    return free_;
  }

 private:
  static void pay() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

  void take(int seats) {
    const std::lock_guard guard(mutex_);
    free_ -= seats;
  }

  std::mutex mutex_;
  int free_;
};

int main(int argc, char** argv) {
  const int group = argc > 1 ? std::atoi(argv[1]) : 1;
  Hall hall(1000 * group);
  const auto counter = [&hall, group] {
    while (hall.sell(group)) {
    }
  };
  std::thread left(counter);
  std::thread right(counter);
  left.join();
  right.join();
  std::printf("%d seats left\n", hall.free_seats());
}
