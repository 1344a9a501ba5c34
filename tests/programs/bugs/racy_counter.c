// verdict: violated
// races: found
// record: --order exact
// blocks: add
// output: 1 of 2
// No lock at all: a plain counter in an atomic block, read before and written after another
// thread's update. Only the order that the values show tells.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

static int counter;
static Turn looked, done;

static void add(int slow) {
  int old = counter;  // <- here
  if (slow) {
    turn_give(&looked);
    turn_take(&done);
  }
  counter = old + 1;  // <- here
}

static void* other(void* unused) {
  turn_take(&looked);
  add(0);
  turn_give(&done);
  return unused;
}

int main(void) {
  looked = turn_make();
  done = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  add(1);
  pthread_join(thread, NULL);
  printf("%d of 2\n", counter);
  return 0;
}
