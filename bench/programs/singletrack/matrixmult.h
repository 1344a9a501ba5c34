// Matrix multiplication, divided and conquered: a thread for each half of the rows, and again for
// the halves of those.

#pragma once

#include "program.h"

namespace matrixmult {

struct Matrix {
  explicit Matrix(std::size_t n) : size(n), cells(n * n) {}
  double* row(std::size_t i) { return &cells[i * size]; }
  [[nodiscard]] const double* row(std::size_t i) const { return &cells[i * size]; }
  std::size_t size;
  std::vector<double> cells;
};

SYNDROME_DETERMINISTIC inline void multiply_row(const Matrix& a, const Matrix& b, Matrix& c,
                                                std::size_t i) {
  double* to = c.row(i);
  for (std::size_t k = 0; k < a.size; ++k) {
    const double factor = a.row(i)[k];
    const double* from = b.row(k);
    for (std::size_t j = 0; j < a.size; ++j) to[j] += factor * from[j];
  }
}

SYNDROME_DETERMINISTIC inline void multiply(const Matrix& a, const Matrix& b, Matrix& c,
                                            std::size_t from, std::size_t to, int depth) {
  if (depth == 0) {
    for (std::size_t i = from; i < to; ++i) multiply_row(a, b, c, i);
    return;
  }
  const std::size_t middle = from + (to - from) / 2;
  std::thread upper([&, from, middle, depth] { multiply(a, b, c, from, middle, depth - 1); });
  std::thread lower([&, middle, to, depth] { multiply(a, b, c, middle, to, depth - 1); });
  upper.join();
  lower.join();
}

SYNDROME_DETERMINISTIC inline void fill(Matrix& matrix, Random& random) {
  for (double& cell : matrix.cells) cell = random.uniform() - 0.5;
}

SYNDROME_DETERMINISTIC inline std::vector<double> times(const Matrix& matrix,
                                                        const std::vector<double>& x) {
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) y[i] += matrix.row(i)[j] * x[j];
  }
  return y;
}

/// (A B) x = A (B x) for some x.
SYNDROME_DETERMINISTIC inline bool is_product(const Matrix& a, const Matrix& b, const Matrix& c,
                                              Random& random) {
  std::vector<double> x(a.size);
  for (double& element : x) element = random.uniform();
  const std::vector<double> left = times(c, x);
  const std::vector<double> right = times(a, times(b, x));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!near(left[i], right[i], 1e-9)) return false;
  }
  return true;
}

SYNDROME_DETERMINISTIC inline bool multiply_random(std::size_t size, int depth, Random& random) {
  Matrix a(size), b(size), c(size);
  fill(a, random);
  fill(b, random);
  multiply(a, b, c, 0, size, depth);
  return is_product(a, b, c, random);
}

SYNDROME_DETERMINISTIC inline bool run(const Call& call) {
  Random random(5);
  return multiply_random(call.pick<std::size_t>(16, 200, 500), 2, random);
}

}  // namespace matrixmult
