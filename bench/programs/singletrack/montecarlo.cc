// Prices of an option by Monte Carlo: paths of a share, each with random numbers of its own; each
// thread has a part of the paths.

#include "program.h"

namespace montecarlo {

constexpr std::size_t kThreads = 4;

struct Terms {
  double spot = 100, strike = 105, rate = 0.03, volatility = 0.25, years = 1;
};

struct Task {
  std::uint64_t seed = 0;
  double last = 0, payoff = 0;
};

/// The share's price, day after day.
SYNDROME_DETERMINISTIC static void walk(const Terms& terms, Random& random,
                                        std::vector<double>& path) {
  const double step = terms.years / static_cast<double>(path.size() - 1);
  const double drift = (terms.rate - terms.volatility * terms.volatility / 2) * step;
  const double spread = terms.volatility * std::sqrt(step);
  path[0] = terms.spot;
  for (std::size_t i = 1; i < path.size(); ++i) {
    path[i] = path[i - 1] * std::exp(drift + spread * random.gauss());
  }
}

SYNDROME_DETERMINISTIC static void run_task(const Terms& terms, Task& task,
                                            std::vector<double>& path) {
  Random random(task.seed);
  walk(terms, random, path);
  task.last = path.back();
  task.payoff = std::max(0.0, task.last - terms.strike) * std::exp(-terms.rate * terms.years);
}

SYNDROME_DETERMINISTIC static void run_tasks(const Terms& terms, std::vector<Task>& tasks,
                                             Part part) {
  constexpr std::size_t kDays = 100;
  std::vector<double> path(kDays + 1);
  for (std::size_t i = part.from; i < part.to; ++i) run_task(terms, tasks[i], path);
}

SYNDROME_DETERMINISTIC static void kernel(const Terms& terms, std::vector<Task>& tasks) {
  in_parallel(kThreads,
              [&](std::size_t id) { run_tasks(terms, tasks, Part(tasks.size(), id, kThreads)); });
}

/// What Black and Scholes would pay.
SYNDROME_DETERMINISTIC static double fair_price(const Terms& terms) {
  const auto normal = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  const double spread = terms.volatility * std::sqrt(terms.years);
  const double one = (std::log(terms.spot / terms.strike) +
                      (terms.rate + terms.volatility * terms.volatility / 2) * terms.years) /
                     spread;
  return terms.spot * normal(one) -
         terms.strike * std::exp(-terms.rate * terms.years) * normal(one - spread);
}

SYNDROME_DETERMINISTIC static bool run(const Call& call) {
  const Terms terms;
  std::vector<Task> tasks(call.pick<std::size_t>(40, 10'000, 60'000));
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].seed = i + 1;
  kernel(terms, tasks);
  double mean = 0;
  double square = 0;
  const auto count = static_cast<double>(tasks.size());
  for (const Task& task : tasks) {
    mean += task.payoff / count;
    square += task.payoff * task.payoff / count;
  }
  // Four times the standard error.
  const double error = std::sqrt((square - mean * mean) / count);
  return mean > 0 && std::fabs(mean - fair_price(terms)) < 4 * error;
}

}  // namespace montecarlo

SYNDROME_DETERMINISTIC int main(int argc, char** argv) {
  return run_program(argc, argv, montecarlo::run);
}
