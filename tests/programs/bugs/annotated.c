// verdict: violated
// output: 5
// The lost update in a function that is annotated, in C, without a spec.
#include <pthread.h>
#include <stdio.h>
#include <syndrome/syndrome.h>

#include "turns.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static Turn looked, done;

SYNDROME_ATOMIC static void add(int by, int slow) {
  pthread_mutex_lock(&mutex);
  int old = counter;  // <- here
  pthread_mutex_unlock(&mutex);
  if (slow) {
    turn_give(&looked);
    turn_take(&done);
  }
  pthread_mutex_lock(&mutex);
  counter = old + by;  // <- here
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
  printf("%d\n", counter);
  return 0;
}
