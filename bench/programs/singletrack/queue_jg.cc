// The first five Java Grande programs as tasks for two workers; each has threads of its own. sor
// comes with its fixed barrier: a fault that is known is not what this one is about.

#include <array>

#include "crypt.h"
#include "lufact.h"
#include "pool.h"
#include "series.h"
#include "sor.h"
#include "sparse.h"

namespace queue_jg {

struct Task {
  bool (*run)(const Call&) = nullptr;
  bool right = false;
};

SYNDROME_DETERMINISTIC static void run_task(Task& task, const Call& call) {
  task.right = task.run(call);
}

static bool run(const Call& call) {
  Call fixed = call;
  fixed.fixed = true;
  std::array<Task, 5> tasks = {
      {{cipher::run}, {lufact::run}, {series::run}, {sor::run}, {sparse::run}}};
  {
    Pool pool(2);
    for (Task& task : tasks) pool.submit([&task, &fixed] { run_task(task, fixed); });
  }
  for (const Task& task : tasks) {
    if (!task.right) return false;
  }
  return true;
}

}  // namespace queue_jg

int main(int argc, char** argv) {
  return run_program(argc, argv, queue_jg::run);
}
