// Matrix multiplications as tasks for two workers; each has threads of its own.

#include <array>

#include "matrixmult.h"
#include "pool.h"

namespace queue_mm {

struct Task {
  std::uint64_t seed = 0;
  bool right = false;
};

SYNDROME_DETERMINISTIC static void run_task(Task& task, std::size_t size) {
  Random random(task.seed);
  task.right = matrixmult::multiply_random(size, 1, random);
}

static bool run(const Call& call) {
  const auto size = call.pick<std::size_t>(10, 150, 300);
  std::array<Task, 4> tasks;
  {
    Pool pool(2);
    for (Task& task : tasks) {
      task.seed = static_cast<std::uint64_t>(&task - tasks.data()) + 1;
      pool.submit([&task, size] { run_task(task, size); });
    }
  }
  for (const Task& task : tasks) {
    if (!task.right) return false;
  }
  return true;
}

}  // namespace queue_mm

int main(int argc, char** argv) {
  return run_program(argc, argv, queue_mm::run);
}
