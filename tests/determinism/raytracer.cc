// Like Java Grande's raytracer: each thread renders rows of its own, and all add to one checksum
// without a lock. FIXED: each has a checksum of its own, added up after the joins.

#include <array>
#include <cstdio>
#include <thread>
#include <vector>

#include <syndrome/syndrome.h>

constexpr int kThreads = 4;
constexpr int kRows = 16;
constexpr int kColumns = 16;

static int image[kRows][kColumns];
static long checksum;
static std::array<long, kThreads> own;

static int shade(int x, int y) {
  int steps = 0;
  for (int a = x, b = y; a * a + b * b < 10000 && steps < 50; ++steps) {
    const int next = (a * a - b * b) / 8 + x;
    b = a * b / 4 + y;
    a = next;
  }
  return steps;
}

static void render(int id) {
  for (int row = id; row < kRows; row += kThreads) {
    for (int column = 0; column < kColumns; ++column) {
      image[row][column] = shade(row - kRows / 2, column - kColumns / 2);
#ifdef FIXED
      own[static_cast<std::size_t>(id)] += image[row][column];
#else
      checksum += image[row][column];
#endif
    }
  }
}

SYNDROME_DETERMINISTIC static void trace() {
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) threads.emplace_back(render, id);
  for (std::thread& thread : threads) thread.join();
  for (const long part : own) checksum += part;
}

int main() {
  trace();
  std::puts(checksum > 0 ? "rendered" : "black");
}
