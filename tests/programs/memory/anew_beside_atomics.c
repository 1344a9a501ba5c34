// verdict: clean
// blocks: work
// output: 40000
// One thread has told so much that it has no draft any more (runtime/draft.h), and others use
// memory anew of which something was told: they come behind what it has told, and no further.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "turns.h"

enum { kThreads = 4, kRounds = 10000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long* cell;
static int rounds;
static _Atomic int told;
static Turn born, begin;

static void work(void) {
  pthread_mutex_lock(&mutex);
  ++*cell;
  if (++rounds % 16 == 0) {
    free(cell);
    cell = calloc(1, sizeof(long));
  }
  pthread_mutex_unlock(&mutex);
}

static void* atomics(void* unused) {
  for (int i = 0; i < 1000; ++i) ++told;
  turn_give(&born);
  turn_take(&begin);
  for (int i = 0; i < kRounds; ++i) work();
  return unused;
}

static void* worker(void* unused) {
  turn_give(&born);
  turn_take(&begin);
  for (int i = 0; i < kRounds; ++i) work();
  return unused;
}

int main(void) {
  born = turn_make();
  begin = turn_make();
  cell = calloc(1, sizeof(long));
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    pthread_create(&threads[i], NULL, i == 0 ? atomics : worker, NULL);
    turn_take(&born);
  }
  for (int i = 0; i < kThreads; ++i) turn_give(&begin);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", rounds);
  free(cell);
  return 0;
}
