// Barrier, of the Java Grande benchmarks: nine threads that meet at a barrier again and again,
// between which each passes a token on under a lock.

#include "program.h"

namespace {

using namespace predictive;

constexpr int kThreads = 9;
constexpr int kRounds = 3;

Meeting barrier(kThreads);
Mutex mutex;
int tokens = 0;
int progress[kThreads];

void work(std::size_t number) {
  for (int round = 0; round < kRounds; ++round) {
    progress[number] = round;
    {
      const Guard guard(mutex);
      ++tokens;
    }
    barrier.meet();
    if (progress[(number + 1) % kThreads] < round) return;
    barrier.meet();
  }
}

}  // namespace

int main() {
  in_threads(kThreads, work);
  return tokens == kThreads * kRounds ? 0 : 1;
}
