// verdict: violated
// blocks: add
// output: 5
// flags: -fsanitize=undefined
// The sanitizer's runtime comes before the C library has an environment; all is recorded the same.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int total;
static Turn looked, done;

static void add(int by, int slow) {
  pthread_mutex_lock(&mutex);
  int old = total;  // <- here
  pthread_mutex_unlock(&mutex);
  if (slow) {
    turn_give(&looked);
    turn_take(&done);
  }
  pthread_mutex_lock(&mutex);
  total = old + by;  // <- here
  pthread_mutex_unlock(&mutex);
}

static void* other(void* unused) {
  turn_take(&looked);
  add(3, 0);
  turn_give(&done);
  return unused;
}

int main(void) {
  looked = turn_make();
  done = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  add(5, 1);
  pthread_join(thread, NULL);
  printf("%d\n", total);
  return 0;
}
