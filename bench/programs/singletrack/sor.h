// Red-black successive over-relaxation. Each thread has a band of rows, and waits for its two
// neighbours after each half step, by a barrier of its own making. As in Java Grande, that one is
// faulty: plain counters, of which it believes that others see them whole, and in order. The fixed
// one has atomic counters, and says what it orders.

#pragma once

#include <memory>

#include "program.h"

namespace sor {

constexpr std::size_t kThreads = 4;

struct Grid {
  explicit Grid(std::size_t n) : size(n), cells(n * n) {}
  double& at(std::size_t row, std::size_t column) { return cells[row * size + column]; }
  std::size_t size;
  std::vector<double> cells;
};

class Barrier {
 public:
  explicit Barrier(bool fixed) : fixed_(fixed) {}

  void meet_neighbours(std::size_t id, long turn) {
    if (fixed_) return meet_neighbours_fixed(id, turn);
    counters_[id].turn = turn;
    if (id > 0) wait_for(counters_[id - 1].turn, turn);
    if (id + 1 < kThreads) wait_for(counters_[id + 1].turn, turn);
  }

 private:
  struct alignas(64) Counter {
    volatile long turn = 0;
  };

  static void wait_for(const volatile long& other, long turn) {
    while (other < turn) std::this_thread::yield();
  }

  void meet_neighbours_fixed(std::size_t id, long turn) {
    SYNDROME_HAPPENS_BEFORE(&counters_[id]);
    publish(id, turn);
    if (id > 0) wait_for_fixed(id - 1, turn);
    if (id + 1 < kThreads) wait_for_fixed(id + 1, turn);
  }
  void wait_for_fixed(std::size_t other, long turn) {
    wait(other, turn);
    SYNDROME_HAPPENS_AFTER(&counters_[other]);
  }

  // What the order is made of is not looked at itself: the annotations speak for it. Compiler's
  // functions, not std::atomic's: those are functions of their own, and would have probes.
  SYNDROME_NO_PROBES void publish(std::size_t id, long turn) {
    __atomic_store_n(&counters_[id].turn, turn, __ATOMIC_RELEASE);
  }
  SYNDROME_NO_PROBES void wait(std::size_t other, long turn) {
    while (__atomic_load_n(&counters_[other].turn, __ATOMIC_ACQUIRE) < turn) {
      std::this_thread::yield();
    }
  }

  bool fixed_;
  Counter counters_[kThreads];
};

SYNDROME_DETERMINISTIC inline void relax_row(Grid& grid, std::size_t row, std::size_t colour) {
  constexpr double kOmega = 1.25;
  for (std::size_t column = 1 + (row + colour) % 2; column + 1 < grid.size; column += 2) {
    const double mean = 0.25 * (grid.at(row - 1, column) + grid.at(row + 1, column) +
                                grid.at(row, column - 1) + grid.at(row, column + 1));
    grid.at(row, column) += kOmega * (mean - grid.at(row, column));
  }
}

inline void worker(Grid& grid, Barrier& barrier, std::size_t id, long turns) {
  const Part rows(grid.size - 2, id, kThreads);
  for (long turn = 1; turn <= turns; ++turn) {
    for (std::size_t row = rows.from; row < rows.to; ++row) {
      relax_row(grid, row + 1, static_cast<std::size_t>(turn) % 2);
    }
    barrier.meet_neighbours(id, turn);
  }
}

SYNDROME_DETERMINISTIC inline void relax(Grid& grid, long turns, bool fixed) {
  const auto barrier = std::make_unique<Barrier>(fixed);
  in_parallel(kThreads, [&](std::size_t id) { worker(grid, *barrier, id, turns); });
}

SYNDROME_DETERMINISTIC inline double kernel(Grid& grid, long iterations, bool fixed) {
  relax(grid, 2 * iterations, fixed);
  double sum = 0;
  for (const double cell : grid.cells) sum += cell;
  return sum;
}

SYNDROME_DETERMINISTIC inline bool run(const Call& call) {
  Grid grid(call.pick<std::size_t>(18, 300, 1000));
  Random random(10101010);
  for (double& cell : grid.cells) cell = random.uniform();
  const double sum = kernel(grid, call.pick<long>(5, 50, 100), call.fixed);
  // As one thread alone computes it.
  return near(sum, call.pick(164.78571326580857, 45045.36793691518, 499418.59913424728), 1e-9);
}

}  // namespace sor
