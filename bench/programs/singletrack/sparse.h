// A sparse matrix times a vector, again and again; each thread has rows of its own.

#pragma once

#include <algorithm>

#include "program.h"

namespace sparse {

constexpr std::size_t kThreads = 4;

/// The elements of row i are those from starts[i] to starts[i + 1].
struct Matrix {
  std::vector<std::size_t> starts;
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
};

SYNDROME_DETERMINISTIC inline void multiply(const Matrix& a, const std::vector<double>& x,
                                            std::vector<double>& y, Part rows, int times) {
  for (int i = 0; i < times; ++i) {
    for (std::size_t row = rows.from; row < rows.to; ++row) {
      double sum = y[row];
      for (std::size_t at = a.starts[row]; at < a.starts[row + 1]; ++at) {
        sum += a.values[at] * x[a.columns[at]];
      }
      y[row] = sum;
    }
  }
}

SYNDROME_DETERMINISTIC inline void kernel(const Matrix& a, const std::vector<double>& x,
                                          std::vector<double>& y, int times) {
  in_parallel(kThreads,
              [&](std::size_t id) { multiply(a, x, y, Part(y.size(), id, kThreads), times); });
}

SYNDROME_DETERMINISTIC inline Matrix make_matrix(std::size_t rows, std::size_t elements,
                                                 Random& random) {
  std::vector<std::uint32_t> row_of(elements);
  for (std::uint32_t& row : row_of) row = random.below(static_cast<std::uint32_t>(rows));
  std::sort(row_of.begin(), row_of.end());
  Matrix a;
  for (std::size_t row = 0; row <= rows; ++row) {
    a.starts.push_back(static_cast<std::size_t>(
        std::lower_bound(row_of.begin(), row_of.end(), row) - row_of.begin()));
  }
  for (std::size_t i = 0; i < elements; ++i) {
    a.columns.push_back(random.below(static_cast<std::uint32_t>(rows)));
    a.values.push_back(random.uniform());
  }
  return a;
}

SYNDROME_DETERMINISTIC inline bool run(const Call& call) {
  const auto rows = call.pick<std::size_t>(100, 10'000, 50'000);
  const int times = call.pick(5, 50, 200);
  Random random(1966);
  const Matrix a = make_matrix(rows, 5 * rows, random);
  std::vector<double> x(rows);
  for (double& element : x) element = random.uniform();
  std::vector<double> y(rows);
  kernel(a, x, y, times);
  double total = 0;
  for (const double element : y) total += element;
  double expected = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) expected += a.values[i] * x[a.columns[i]];
  return near(total, times * expected, 1e-9);
}

}  // namespace sparse
