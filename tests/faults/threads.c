// 500 threads that are alive together, in each of 20 rounds: 10,000 over the run. Each has a buffer
// of its own, and those of a round are the next round's.
#include "fault.h"

enum { kTogether = 500, kRounds = 20 };

static pthread_barrier_t all;
static int marks[kTogether];

static void* work(void* mark) {
  pthread_barrier_wait(&all);
  *(int*)mark += 1;
  pthread_mutex_lock(&guard);
  ++guarded;
  pthread_mutex_unlock(&guard);
  return NULL;
}

int main(void) {
  pthread_barrier_init(&all, NULL, kTogether);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_t threads[kTogether];
  race_before();
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kTogether; ++i) {
      must(pthread_create(&threads[i], &attributes, work, &marks[i]) == 0, "pthread_create");
    }
    for (int i = 0; i < kTogether; ++i) pthread_join(threads[i], NULL);
  }
  race_after();
  int sum = 0;
  for (int i = 0; i < kTogether; ++i) sum += marks[i];
  printf("%d threads, %d\n", sum, guarded);
  return 3;
}
