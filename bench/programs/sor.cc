// verdict: clean
// blocks: Grid::relax_row
// args: 64 10
// output: relaxed 64 x 64, 10 times
// Red-black successive over-relaxation: each thread has a band of rows, and a barrier separates the
// half steps, in which it reads its neighbours' rows.
//
//   sor [SIZE [ITERATIONS]]
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

class Grid {
 public:
  explicit Grid(std::size_t size) : size_(size), cells_(size * size) {
    for (std::size_t i = 0; i < size; ++i) {
      at(0, i) = 1.0;
      at(size - 1, i) = -1.0;
    }
  }

  void relax_row(std::size_t row, std::size_t colour) {
    constexpr double kOmega = 1.25;
    for (std::size_t column = 1 + (row + colour) % 2; column + 1 < size_; column += 2) {
      const double mean = 0.25 * (at(row - 1, column) + at(row + 1, column) + at(row, column - 1) +
                                  at(row, column + 1));
      at(row, column) += kOmega * (mean - at(row, column));
    }
  }

  double& at(std::size_t row, std::size_t column) { return cells_[row * size_ + column]; }
  [[nodiscard]] const std::vector<double>& cells() const { return cells_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::vector<double> cells_;
};

static void relax(Grid& grid, std::size_t from, std::size_t to, int iterations,
                  std::barrier<>& barrier) {
  for (int i = 0; i < iterations; ++i) {
    for (std::size_t colour = 0; colour < 2; ++colour) {
      for (std::size_t row = from; row < to; ++row) grid.relax_row(row, colour);
      barrier.arrive_and_wait();
    }
  }
}

static Grid relaxed(std::size_t size, int iterations, std::size_t threads) {
  Grid grid(size);
  std::barrier<> barrier(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::thread> workers;
  const std::size_t rows = size - 2;
  for (std::size_t t = 0; t < threads; ++t) {
    workers.emplace_back(relax, std::ref(grid), 1 + rows * t / threads,
                         1 + rows * (t + 1) / threads, iterations, std::ref(barrier));
  }
  for (auto& worker : workers) worker.join();
  return grid;
}

int main(int argc, char** argv) {
  const std::size_t size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
  const int iterations = argc > 2 ? std::atoi(argv[2]) : 100;
  const Grid grid = relaxed(size, iterations, 4);
  // Red-black order does not depend on who does which row, so a small grid done alone is the same.
  const std::size_t small = size < 100 ? size : 100;
  const int few = iterations < 20 ? iterations : 20;
  const bool same = relaxed(small, few, 4).cells() == relaxed(small, few, 1).cells();
  const double centre = grid.cells()[(size / 2) * size + size / 2];
  if (!same || !std::isfinite(centre)) {
    std::puts("wrong");
    return 1;
  }
  std::printf("relaxed %zu x %zu, %d times\n", size, size, iterations);
}
