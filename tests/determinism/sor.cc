// Like Java Grande's sor: red and black points of a grid in turns, the threads meeting after each.
// The barrier is home-made, of plain long counters that each thread writes and its neighbours read:
// they are neither ordered nor one access each everywhere. FIXED: a barrier of the library.

#include <pthread.h>
#include <sched.h>

#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include <syndrome/syndrome.h>

constexpr int kThreads = 3;
constexpr int kSize = 14;
constexpr int kRounds = 4;

static double grid[kSize][kSize];

#ifdef FIXED
static pthread_barrier_t barrier;
static void meet(int /*id*/, long /*turn*/) {
  pthread_barrier_wait(&barrier);
}
#else
static volatile long arrived[kThreads];
static void meet(int id, long turn) {
  arrived[id] = turn;
  for (int other = 0; other < kThreads; ++other) {
    while (arrived[other] < turn) sched_yield();
  }
}
#endif

static void relax(int id) {
  for (long turn = 1; turn <= 2 * kRounds; ++turn) {
    for (int i = 1 + id; i < kSize - 1; i += kThreads) {
      for (int j = 1 + static_cast<int>((i + turn) % 2); j < kSize - 1; j += 2) {
        grid[i][j] = 0.25 * (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]);
      }
    }
    meet(id, turn);
  }
}

SYNDROME_DETERMINISTIC static double sor() {
  std::vector<std::thread> threads;
  for (int id = 1; id < kThreads; ++id) threads.emplace_back(relax, id);
  relax(0);
  for (std::thread& thread : threads) thread.join();
  double sum = 0;
  for (const auto& row : grid) {
    for (const double value : row) sum += value;
  }
  return sum;
}

int main() {
#ifdef FIXED
  pthread_barrier_init(&barrier, nullptr, kThreads);
#endif
  for (int i = 0; i < kSize; ++i) grid[0][i] = 1;
  std::puts(std::isfinite(sor()) ? "relaxed" : "lost");
}
