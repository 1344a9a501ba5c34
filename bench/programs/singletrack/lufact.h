// A linear system by LU factorization with pivoting. One thread finds the pivot and divides its
// column; then all subtract that column from the others, each from its own; a barrier after both.

#pragma once

#include <algorithm>
#include <barrier>

#include "program.h"

namespace lufact {

constexpr std::size_t kThreads = 4;

/// Columns one after another, as the algorithm goes.
struct Matrix {
  explicit Matrix(std::size_t n) : size(n), cells(n * n) {}
  double* column(std::size_t j) { return &cells[j * size]; }
  [[nodiscard]] const double* column(std::size_t j) const { return &cells[j * size]; }
  std::size_t size;
  std::vector<double> cells;
};

SYNDROME_DETERMINISTIC inline std::size_t find_pivot(const double* column, std::size_t from,
                                                     std::size_t to) {
  std::size_t best = from;
  for (std::size_t i = from + 1; i < to; ++i) {
    if (std::fabs(column[i]) > std::fabs(column[best])) best = i;
  }
  return best;
}

/// y -= factor * x
SYNDROME_DETERMINISTIC inline void subtract(double* y, const double* x, double factor,
                                            std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] -= factor * x[i];
}

SYNDROME_DETERMINISTIC inline void prepare(Matrix& a, std::vector<std::size_t>& pivots,
                                           std::size_t k) {
  double* column = a.column(k);
  pivots[k] = find_pivot(column, k, a.size);
  std::swap(column[k], column[pivots[k]]);
  for (std::size_t i = k + 1; i < a.size; ++i) column[i] /= column[k];
}

SYNDROME_DETERMINISTIC inline void eliminate(Matrix& a, std::size_t pivot, std::size_t k,
                                             std::size_t j) {
  double* column = a.column(j);
  std::swap(column[k], column[pivot]);
  subtract(column + k + 1, a.column(k) + k + 1, column[k], a.size - k - 1);
}

inline void worker(Matrix& a, std::vector<std::size_t>& pivots, std::barrier<>& barrier,
                   std::size_t id) {
  for (std::size_t k = 0; k + 1 < a.size; ++k) {
    if (id == 0) prepare(a, pivots, k);
    barrier.arrive_and_wait();
    for (std::size_t j = k + 1; j < a.size; ++j) {
      if (j % kThreads == id) eliminate(a, pivots[k], k, j);
    }
    barrier.arrive_and_wait();
  }
}

SYNDROME_DETERMINISTIC inline void factorize(Matrix& a, std::vector<std::size_t>& pivots) {
  std::barrier<> barrier(static_cast<std::ptrdiff_t>(kThreads));
  in_parallel(kThreads, [&](std::size_t id) { worker(a, pivots, barrier, id); });
}

SYNDROME_DETERMINISTIC inline void solve(const Matrix& a, const std::vector<std::size_t>& pivots,
                                         std::vector<double>& b) {
  for (std::size_t k = 0; k + 1 < a.size; ++k) {
    std::swap(b[k], b[pivots[k]]);
    subtract(&b[k + 1], a.column(k) + k + 1, b[k], a.size - k - 1);
  }
  for (std::size_t k = a.size; k-- > 0;) {
    b[k] /= a.column(k)[k];
    subtract(b.data(), a.column(k), b[k], k);
  }
}

SYNDROME_DETERMINISTIC inline void kernel(Matrix& a, std::vector<double>& b) {
  std::vector<std::size_t> pivots(a.size);
  factorize(a, pivots);
  solve(a, pivots, b);
}

SYNDROME_DETERMINISTIC inline bool run(const Call& call) {
  const auto n = call.pick<std::size_t>(16, 200, 500);
  Random random(1325);
  Matrix a(n);
  std::vector<double> b(n);
  for (double& cell : a.cells) cell = random.uniform() - 0.5;
  // The sum of each row: the solution is 1 everywhere.
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) b[i] += a.column(j)[i];
  }
  kernel(a, b);
  return std::all_of(b.begin(), b.end(), [](double x) { return near(x, 1, 1e-6); });
}

}  // namespace lufact
