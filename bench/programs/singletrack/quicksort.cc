// The paper's Figure 1: a thread for each part, down to a few of them, under a lock against others
// who would sort the same.

#include <algorithm>
#include <mutex>

#include "program.h"

namespace quicksort {

struct Numbers {
  std::vector<std::uint32_t> values;
  std::mutex lock;
};

/// Where the pivot lies afterwards, from `low` to `high`.
SYNDROME_DETERMINISTIC static std::size_t partition(std::uint32_t* values, std::size_t low,
                                                    std::size_t high) {
  std::swap(values[low + (high - low) / 2], values[high]);
  const std::uint32_t pivot = values[high];
  std::size_t at = low;
  for (std::size_t i = low; i < high; ++i) {
    if (values[i] < pivot) std::swap(values[i], values[at++]);
  }
  std::swap(values[at], values[high]);
  return at;
}

SYNDROME_DETERMINISTIC static void sort_alone(std::uint32_t* values, std::size_t low,
                                              std::size_t high) {
  while (low < high) {
    const std::size_t pivot = partition(values, low, high);
    if (pivot > low) sort_alone(values, low, pivot - 1);
    low = pivot + 1;
  }
}

SYNDROME_DETERMINISTIC static void sort_part(std::uint32_t* values, std::size_t low,
                                             std::size_t high, std::size_t alone) {
  if (high - low < alone) return sort_alone(values, low, high);
  const std::size_t pivot = partition(values, low, high);
  std::thread left([=] {
    if (pivot > low) sort_part(values, low, pivot - 1, alone);
  });
  std::thread right([=] {
    if (pivot < high) sort_part(values, pivot + 1, high, alone);
  });
  left.join();
  right.join();
}

SYNDROME_DETERMINISTIC static void sort(Numbers& numbers) {
  const std::lock_guard guard(numbers.lock);
  const std::size_t size = numbers.values.size();
  sort_part(numbers.values.data(), 0, size - 1, size / 8);
}

SYNDROME_DETERMINISTIC static bool run(const Call& call) {
  Numbers numbers;
  Random random(29);
  std::uint64_t sum = 0;
  for (std::size_t i = call.pick<std::size_t>(200, 400'000, 4'000'000); i-- > 0;) {
    numbers.values.push_back(random.bits());
    sum += numbers.values.back();
  }
  sort(numbers);
  for (const std::uint32_t value : numbers.values) sum -= value;
  return sum == 0 && std::is_sorted(numbers.values.begin(), numbers.values.end());
}

}  // namespace quicksort

SYNDROME_DETERMINISTIC int main(int argc, char** argv) {
  return run_program(argc, argv, quicksort::run);
}
