// Counts visits from two threads. Every access to the count holds the mutex, so ThreadSanitizer has
// nothing to report, and visits are still lost: add() reads in one critical section and writes in
// the next.
//
//   syndrome c++ -g -std=c++20 -pthread visits.cc -o visits
//   syndrome record -o visits.syn -- ./visits
//   syndrome check visits.syn

#include <syndrome/syndrome.h>

#include <cstdio>
#include <mutex>
#include <thread>

class Counter {
 public:
  SYNDROME_ATOMIC void add(int visits) { set(get() + visits); }

  int get() {
    const std::lock_guard guard(mutex_);
    return count_;
  }

  void set(int count) {
    const std::lock_guard guard(mutex_);
    count_ = count;
  }

 private:
  std::mutex mutex_;
  int count_ = 0;
};

int main() {
  constexpr int kVisits = 1000;
  int expected = 0;
  Counter counter;
  // A lucky schedule loses nothing: then the day goes on.
  while (counter.get() == expected) {
    const auto visit = [&counter] {
      for (int i = 0; i < kVisits; ++i) counter.add(1);
    };
    std::thread front_door(visit);
    std::thread back_door(visit);
    front_door.join();
    back_door.join();
    expected += 2 * kVisits;
  }
  std::printf("counted %d of %d visits\n", counter.get(), expected);
}
