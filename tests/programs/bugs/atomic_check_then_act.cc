// verdict: violated
// blocks: Turnstile::enter
// output: 2 inside, 1 allowed
// Each step is atomic and there is no race, so ThreadSanitizer is silent (google/sanitizers 1645):
// the check and the act are two steps.
#include <atomic>
#include <cstdio>
#include <thread>

#include "turns.h"

static Turn looked = turn_make(), entered = turn_make();

class Turnstile {
 public:
  bool enter(bool slow) {
    if (inside_.load() >= 1) return false;  // <- here
    if (slow) {
      turn_give(&looked);
      turn_take(&entered);
    }
    inside_.fetch_add(1);  // <- here
    return true;
  }
  int inside() const { return inside_.load(); }

 private:
  std::atomic<int> inside_{0};
};

int main() {
  Turnstile turnstile;
  std::thread other([&turnstile] {
    turn_take(&looked);
    turnstile.enter(false);
    turn_give(&entered);
  });
  turnstile.enter(true);
  other.join();
  std::printf("%d inside, 1 allowed\n", turnstile.inside());
}
