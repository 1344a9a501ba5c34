// verdict: clean
// blocks: increment
// output: cancelled 1, 101 increments
// A cancelled thread unwinds from inside of a wait, through its cleanup handler, which holds the
// lock and lets it go.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int counter;
static Turn waiting;

static void increment(void) {
  pthread_mutex_lock(&mutex);
  counter = counter + 1;
  pthread_mutex_unlock(&mutex);
}

static void let_go(void* lock) {
  counter = counter + 1;
  pthread_mutex_unlock(lock);
}

static void* work(void* unused) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(let_go, &mutex);
  turn_give(&waiting);
  while (1) pthread_cond_wait(&never, &mutex);
  pthread_cleanup_pop(0);
  return unused;
}

int main(void) {
  waiting = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  turn_take(&waiting);
  for (int i = 0; i < 50; ++i) increment();
  pthread_cancel(thread);
  for (int i = 0; i < 50; ++i) increment();
  void* result = NULL;
  pthread_join(thread, &result);
  pthread_mutex_lock(&mutex);
  printf("cancelled %d, %d increments\n", result == PTHREAD_CANCELED, counter);
  pthread_mutex_unlock(&mutex);
  return 0;
}
