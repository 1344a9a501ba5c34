// verdict: clean
// blocks: partition, insertion_sort
// args: 20000
// output: sorted 20000
// Parallel quicksort, fork and join: each half of an array belongs to the thread that sorts it, and
// comes back with the join.
//
//   quicksort [ELEMENTS]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

using Iterator = std::uint32_t*;

static constexpr std::ptrdiff_t kSmall = 16;
static constexpr int kForkDepth = 2;  // four threads

static void insertion_sort(Iterator first, Iterator last) {
  for (Iterator next = first; next < last; ++next) {
    const std::uint32_t value = *next;
    Iterator hole = next;
    for (; hole > first && *(hole - 1) > value; --hole) *hole = *(hole - 1);
    *hole = value;
  }
}

static Iterator partition(Iterator first, Iterator last) {
  Iterator middle = first + (last - first) / 2;
  Iterator end = last - 1;
  if (*middle < *first) std::swap(*middle, *first);
  if (*end < *first) std::swap(*end, *first);
  if (*end < *middle) std::swap(*end, *middle);
  const std::uint32_t pivot = *middle;
  Iterator left = first;
  Iterator right = end;
  while (true) {
    while (*left < pivot) ++left;
    while (pivot < *right) --right;
    if (left >= right) return right + 1;
    std::swap(*left++, *right--);
  }
}

static void sort(Iterator first, Iterator last, int depth) {
  while (last - first > kSmall) {
    Iterator cut = partition(first, last);
    if (depth < kForkDepth) {
      ++depth;
      std::thread left(sort, first, cut, depth);
      sort(cut, last, depth);
      left.join();
      return;
    }
    sort(first, cut, depth);
    first = cut;
  }
  insertion_sort(first, last);
}

int main(int argc, char** argv) {
  const std::size_t size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 6'000'000;
  std::vector<std::uint32_t> numbers(size);
  std::uint64_t state = 88172645463325252U;
  std::uint64_t sum = 0;
  for (auto& number : numbers) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    number = static_cast<std::uint32_t>(state >> 20U);
    sum += number;
  }
  sort(numbers.data(), numbers.data() + size, 0);
  for (std::size_t i = 0; i < size; ++i) {
    sum -= numbers[i];
    if (i > 0 && numbers[i - 1] > numbers[i]) {
      std::printf("wrong at %zu\n", i);
      return 1;
    }
  }
  std::printf(sum == 0 ? "sorted %zu\n" : "lost elements of %zu\n", size);
  return sum == 0 ? 0 : 1;
}
