// liveness: six clients ask a service with few slots; who is refused waits until it is told that a
// slot is free, and tries again. Each client keeps its own account of that under a lock of its own.

#include "program.h"

namespace {

using namespace predictive;

constexpr int kClients = 6;
constexpr int kRequests = 2;

Mutex service;
Condition slot_freed;
int slots = 2;
int waiting = 0;
Mutex journal;
int lines = 0;
Mutex totals;
int handled = 0;

struct Client {
  Mutex mutex;
  int requests = 0;
};
Client clients[kClients];

void request(int number) {
  {
    const Guard guard(service);
    while (slots == 0) {
      ++waiting;
      slot_freed.wait(service);
      --waiting;
    }
    --slots;
  }
  {
    const Guard guard(clients[number].mutex);
    ++clients[number].requests;
  }
  {
    const Guard guard(journal);
    ++lines;
  }
  {
    const Guard guard(totals);
    ++handled;
  }
  const Guard guard(service);
  ++slots;
  if (waiting > 0) slot_freed.notify_one();
}

}  // namespace

int main() {
  in_threads(kClients, [](std::size_t client) {
    for (int i = 0; i < kRequests; ++i) request(static_cast<int>(client));
  });
  return handled == kClients * kRequests ? 0 : 1;
}
