// bubble sort: threads swap neighbours of one array; the swap is not locked.

#include <mutex>

#include "twins.h"

namespace {
int values[4] = {4, 3, 2, 1};
std::mutex mutex;

void swap_unlocked(int at) {
  if (values[at] <= values[at + 1]) return;
  const int left = values[at];
  const int right = values[at + 1];
  values[at] = right;
  twins::interrupted();
  values[at + 1] = left;
}

void swap_locked(int at) {
  const std::lock_guard guard(mutex);
  if (values[at] <= values[at + 1]) return;
  const int left = values[at];
  values[at] = values[at + 1];
  values[at + 1] = left;
}
}  // namespace

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  std::thread sorter([&] { fixed ? swap_locked(1) : swap_unlocked(1); });
  twins::wait_for_turn();
  swap_locked(1);
  swap_locked(2);
  twins::turn_over();
  sorter.join();
}
