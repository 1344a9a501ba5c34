// SynchBench, of the Java Grande benchmarks: threads that do little but synchronize, first by a
// method that is synchronized, then by a block.

#include "program.h"

namespace {

using namespace predictive;

constexpr int kThreads = 15;
constexpr int kRounds = 5;

struct Counter {
  Mutex mutex;
  int count = 0;

  void add() {
    const Guard guard(mutex);
    ++count;
  }
};

Counter method;
Mutex block;
int shared = 0;
int finished[kThreads];

void work(std::size_t number) {
  for (int round = 0; round < kRounds; ++round) method.add();
  for (int round = 0; round < kRounds; ++round) {
    const Guard guard(block);
    shared += method.count != 0 ? 1 : 2;
  }
  finished[number] = 1;
}

}  // namespace

int main() {
  in_threads(kThreads, work);
  int sum = 0;
  for (const int each : finished) sum += each;
  return sum == kThreads ? 0 : 1;
}
