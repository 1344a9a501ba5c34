// conpool: three clients share a pool of two connections; who finds none waits for one.

#include "program.h"

namespace {

using namespace predictive;

Mutex mutex;
Condition freed;
int available = 2;
int waiting = 0;
int served = 0;
int most_waiting = 0;
int last_client = -1;

void take(int client) {
  const Guard guard(mutex);
  ++waiting;
  if (waiting > most_waiting) most_waiting = waiting;
  while (available == 0) freed.wait(mutex);
  --waiting;
  --available;
  last_client = client;
}

void give_back() {
  const Guard guard(mutex);
  ++available;
  ++served;
  freed.notify_one();
}

}  // namespace

int main() {
  in_threads(3, [](std::size_t client) {
    take(static_cast<int>(client));
    sched_yield();
    give_back();
  });
  return served == 3 ? 0 : 1;
}
