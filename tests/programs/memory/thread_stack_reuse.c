// verdict: clean
// races: found: a pipe orders nothing
// blocks: fill_both
// output: done
// A thread gets the stack of one that has ended. A block that wrote to a local variable of each has
// written two variables, not one.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

static Turn box, filled;

static void fill_both(void) {
  *(int*)turn_receive(&box) = 5;
  turn_give(&filled);
  *(int*)turn_receive(&box) = 6;
  turn_give(&filled);
}

static void* filler(void* unused) {
  fill_both();
  return unused;
}

static void* owner(void* unused) {
  int local = 1;
  turn_send(&box, &local);
  turn_take(&filled);
  return unused;
}

int main(void) {
  box = turn_make();
  filled = turn_make();
  pthread_t fill;
  pthread_create(&fill, NULL, filler, NULL);
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, owner, NULL);
    pthread_join(thread, NULL);
  }
  pthread_join(fill, NULL);
  puts("done");
  return 0;
}
