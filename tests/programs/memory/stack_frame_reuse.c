// verdict: clean
// races: found: a pipe orders nothing
// blocks: fill_both
// output: done
// Two functions called in turn have their local variables at the same place. They are not the same
// variables.
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

__attribute__((noinline)) static void lend(int value) {
  int local = value;
  turn_send(&box, &local);
  turn_take(&filled);
}

__attribute__((noinline)) static void lend_again(int value) {
  int local = value;
  turn_send(&box, &local);
  turn_take(&filled);
}

int main(void) {
  box = turn_make();
  filled = turn_make();
  pthread_t fill;
  pthread_create(&fill, NULL, filler, NULL);
  lend(1);
  lend_again(2);
  pthread_join(fill, NULL);
  puts("done");
  return 0;
}
