// The paper's Figure 1: a sort that forks a thread for each half. Nothing is left to the schedule.

#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <syndrome/syndrome.h>

static std::mutex guard;

static int partition(std::vector<int>& a, int low, int high) {
  const int pivot = a[high];
  int at = low;
  for (int i = low; i < high; ++i) {
    if (a[i] < pivot) std::swap(a[i], a[at++]);
  }
  std::swap(a[at], a[high]);
  return at;
}

static void sort_part(std::vector<int>& a, int low, int high) {
  if (low >= high) return;
  const int pivot = partition(a, low, high);
  if (high - low < 8) {
    sort_part(a, low, pivot - 1);
    sort_part(a, pivot + 1, high);
    return;
  }
  std::thread left([&a, low, pivot] { sort_part(a, low, pivot - 1); });
  std::thread right([&a, high, pivot] { sort_part(a, pivot + 1, high); });
  left.join();
  right.join();
}

SYNDROME_DETERMINISTIC static void quicksort(std::vector<int>& a) {
  const std::lock_guard<std::mutex> lock(guard);
  sort_part(a, 0, static_cast<int>(a.size()) - 1);
}

int main() {
  std::vector<int> a;
  unsigned seed = 1;
  for (int i = 0; i < 100; ++i) {
    seed = seed * 1103515245U + 12345U;
    a.push_back(static_cast<int>(seed >> 16U) % 1000);
  }
  quicksort(a);
  for (std::size_t i = 1; i < a.size(); ++i) {
    if (a[i - 1] > a[i]) return 1;
  }
  std::puts("sorted");
}
