// verdict: clean
// blocks: relax
// output: 20 phases
// Between two barriers each thread writes its own cell and reads its neighbours' of the phase
// before: conflicts that the barrier alone orders.
#include <pthread.h>
#include <stdio.h>

enum { kThreads = 4, kPhases = 20 };
static pthread_barrier_t barrier;
static int cells[2][kThreads];

static void relax(int me, int phase) {
  const int* old = cells[phase % 2];
  int* fresh = cells[(phase + 1) % 2];
  const int left = old[(me + kThreads - 1) % kThreads];
  const int right = old[(me + 1) % kThreads];
  fresh[me] = (left + right) / 2 + 1;
}

static void* work(void* argument) {
  const int me = (int)(long)argument;
  for (int phase = 0; phase < kPhases; ++phase) {
    relax(me, phase);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, kThreads);
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("%d phases\n", cells[kPhases % 2][1]);
  pthread_barrier_destroy(&barrier);
  return 0;
}
