// The paper's Figure 2(b): which worker takes which task is up to the schedule, and each task is
// deterministic all the same, threads of its own included.

#include <array>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include <syndrome/syndrome.h>

constexpr int kTasks = 6;

static std::mutex guard;
static int next_task;
static std::array<std::array<long, 2>, kTasks> halves;
static std::array<long, kTasks> results;

SYNDROME_DETERMINISTIC static void run(int task) {
  const auto index = static_cast<std::size_t>(task);
  std::thread other([index] {
    for (long i = 0; i < 10; ++i) halves[index][1] += i * static_cast<long>(index);
  });
  for (long i = 0; i < 10; ++i) halves[index][0] += i;
  other.join();
  results[index] = halves[index][0] + halves[index][1];
}

static void worker() {
  while (true) {
    int task = 0;
    {
      const std::lock_guard<std::mutex> lock(guard);
      task = next_task++;
    }
    if (task >= kTasks) return;
    run(task);
  }
}

int main() {
  std::thread one(worker);
  std::thread two(worker);
  one.join();
  two.join();
  long sum = 0;
  for (const long result : results) sum += result;
  std::printf("%ld\n", sum);
}
