// Fourier coefficients of (x + 1)^x between 0 and 2; each thread has a part of them.

#pragma once

#include <array>
#include <numbers>

#include "program.h"

namespace series {

constexpr std::size_t kThreads = 4;

using Pairs = std::vector<std::array<double, 2>>;  // of cosine and sine

enum class Term { kConstant, kCosine, kSine };

inline double value(double x, double frequency, Term term) {
  const double power = std::pow(x + 1, x);
  if (term == Term::kConstant) return power;
  return power * (term == Term::kCosine ? std::cos(frequency * x) : std::sin(frequency * x));
}

/// By the trapezoid rule.
SYNDROME_DETERMINISTIC inline double integrate(double frequency, Term term) {
  constexpr int kSteps = 1000;
  constexpr double kWidth = 2.0 / kSteps;
  double sum = (value(0, frequency, term) + value(2, frequency, term)) / 2;
  for (int i = 1; i < kSteps; ++i) sum += value(i * kWidth, frequency, term);
  return sum * kWidth;
}

/// By Simpson's rule, twice as finely.
SYNDROME_DETERMINISTIC inline double integrate_again(double frequency, Term term) {
  constexpr int kSteps = 2000;
  constexpr double kWidth = 2.0 / kSteps;
  double sum = value(0, frequency, term) + value(2, frequency, term);
  for (int i = 1; i < kSteps; ++i) {
    sum += (i % 2 == 0 ? 2 : 4) * value(i * kWidth, frequency, term);
  }
  return sum * kWidth / 3;
}

SYNDROME_DETERMINISTIC inline void coefficients(Pairs& pairs, Part part) {
  for (std::size_t i = part.from; i < part.to; ++i) {
    const double frequency = std::numbers::pi * static_cast<double>(i);
    if (i == 0) {
      pairs[0] = {integrate(0, Term::kConstant) / 2, 0};
      continue;
    }
    pairs[i] = {integrate(frequency, Term::kCosine), integrate(frequency, Term::kSine)};
  }
}

SYNDROME_DETERMINISTIC inline void kernel(Pairs& pairs) {
  in_parallel(kThreads,
              [&](std::size_t id) { coefficients(pairs, Part(pairs.size(), id, kThreads)); });
}

SYNDROME_DETERMINISTIC inline bool run(const Call& call) {
  Pairs pairs(call.pick<std::size_t>(8, 2'000, 10'000));
  kernel(pairs);
  bool right = near(2 * pairs[0][0], integrate_again(0, Term::kConstant), 1e-4);
  for (std::size_t i = 1; i < 5; ++i) {
    const double frequency = std::numbers::pi * static_cast<double>(i);
    right = right && near(pairs[i][0], integrate_again(frequency, Term::kCosine), 1e-4) &&
            near(pairs[i][1], integrate_again(frequency, Term::kSine), 1e-4);
  }
  return right;
}

}  // namespace series
