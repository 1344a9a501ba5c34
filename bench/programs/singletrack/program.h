// What the programs of this folder have in common.
//
// They are the thirteen that the SingleTrack paper was tried on (Table 1), written anew from their
// descriptions:
//
//   PROGRAM [small | medium | full] [--fixed]
//
// `full` is the paper's size where it is known, `medium` (the default) what `make results`
// measures, `small` what the tests run. --fixed: without the fault that raytracer and sor have.
// Each checks its result and gives 1 when it is wrong. In the first ten, every function is marked
// deterministic that does not wait for a thread which it did not fork; in hedc and the queues the
// tasks are, because who runs which task is up to the schedule.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include <syndrome/syndrome.h>

enum class Size { kSmall, kMedium, kFull };

struct Call {
  Size size = Size::kMedium;
  bool fixed = false;

  template <typename T>
  [[nodiscard]] T pick(T small, T medium, T full) const {
    return size == Size::kSmall ? small : size == Size::kMedium ? medium : full;
  }
};

/// The exit code. `run` says whether the result is right.
inline int run_program(int argc, char** argv, bool (*run)(const Call&)) {
  Call call;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "small") {
      call.size = Size::kSmall;
    } else if (word == "medium") {
      call.size = Size::kMedium;
    } else if (word == "full") {
      call.size = Size::kFull;
    } else if (word == "--fixed") {
      call.fixed = true;
    } else {
      std::fprintf(stderr, "usage: %s [small | medium | full] [--fixed]\n", argv[0]);
      return 2;
    }
  }
  const bool right = run(call);
  std::puts(right ? "right" : "wrong");
  return right ? 0 : 1;
}

/// Java Grande's pattern: work(0) here, the others in threads of their own, until all are done.
template <typename Work>
void in_parallel(std::size_t threads, const Work& work) {
  std::vector<std::thread> others;
  for (std::size_t id = 1; id < threads; ++id) others.emplace_back([&work, id] { work(id); });
  work(0);
  for (std::thread& other : others) other.join();
}

/// The part of 0 … count that a thread has.
struct Part {
  std::size_t from, to;
  Part(std::size_t count, std::size_t id, std::size_t threads)
      : from(count * id / threads), to(count * (id + 1) / threads) {}
};

/// The same numbers in every run.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 0x1234567U) {}

  std::uint32_t bits() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state_ >> 33U);
  }
  std::uint32_t below(std::uint32_t limit) { return bits() % limit; }
  /// 0 … 1
  double uniform() { return static_cast<double>(bits()) / 2147483648.0; }
  /// Normally distributed, by the polar method.
  double gauss() {
    while (true) {
      const double x = 2 * uniform() - 1;
      const double y = 2 * uniform() - 1;
      const double square = x * x + y * y;
      if (square < 1 && square > 0) return x * std::sqrt(-2 * std::log(square) / square);
    }
  }

 private:
  std::uint64_t state_;
};

inline bool near(double value, double expected, double tolerance) {
  return std::fabs(value - expected) <= tolerance * (1 + std::fabs(expected));
}
