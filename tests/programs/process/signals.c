// verdict: clean
// tsan: skip: it delivers signals late, and the program waits for them
// blocks: increment
// output: 100 signals, 2000
// Signal handlers run in the middle of anything, also of a block and of a probe, touch atomics, and
// leave errno and the block's bookkeeping as they were.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "turns.h"

enum { kThreads = 2, kSignals = 50 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static atomic_int signals[kThreads];
static _Thread_local int me;
static Turn ready;

static void on_signal(int number) {
  const int saved = errno;
  (void)number;
  atomic_fetch_add_explicit(&signals[me], 1, memory_order_relaxed);
  errno = saved;
}

static void increment(void) {
  pthread_mutex_lock(&mutex);
  counter = counter + 1;
  pthread_mutex_unlock(&mutex);
}

static void* work(void* number) {
  me = (int)(long)number;
  turn_give(&ready);
  void* broken = NULL;
  for (int i = 0; i < 1000; ++i) {
    errno = 4321;
    increment();
    if (errno != 4321) broken = &counter;
  }
  while (atomic_load(&signals[me]) < kSignals) sched_yield();
  return broken;
}

int main(void) {
  struct sigaction action = {0};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGRTMIN, &action, NULL);  // real-time signals are queued, so none is lost
  ready = turn_make();
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  const union sigval nothing = {0};
  for (int i = 0; i < kThreads; ++i) turn_take(&ready);
  for (int i = 0; i < kSignals; ++i) {
    for (int t = 0; t < kThreads; ++t) pthread_sigqueue(threads[t], SIGRTMIN, nothing);
  }
  void* broken[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], &broken[i]);
  printf("%d signals, %d\n", signals[0] + signals[1], counter);
  return broken[0] != NULL || broken[1] != NULL;
}
