// verdict: violated
// blocks: distance
// output: 90
// The observer reads two fields that belong together in two critical sections.
#include <cstdio>
#include <mutex>
#include <thread>

#include "turns.h"

static Turn half = turn_make(), moved = turn_make();

class Range {
 public:
  int from() {
    const std::lock_guard guard(mutex_);
    return from_;  // <- here
  }
  int to() {
    const std::lock_guard guard(mutex_);
    return to_;  // <- here
  }
  void move(int by) {
    const std::lock_guard guard(mutex_);
    from_ += by;
    to_ += by;
  }

 private:
  std::mutex mutex_;
  int from_ = 10, to_ = 20;
};

static int distance(Range& range) {
  const int from = range.from();
  turn_give(&half);
  turn_take(&moved);
  return range.to() - from;
}

int main() {
  Range range;
  std::thread mover([&range] {
    turn_take(&half);
    range.move(80);
    turn_give(&moved);
  });
  const int result = distance(range);
  mover.join();
  std::printf("%d\n", result);
}
