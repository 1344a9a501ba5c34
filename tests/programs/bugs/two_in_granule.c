// verdict: violated
// races: found
// blocks: prepare, write_twice
// output: 1 1
// Two ints in eight bytes that a block writes, another thread reads, and the block writes again:
// that the block had written them before says nothing of the second time.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

static _Alignas(8) int values[2];
static Turn written, seen;
static int copies[2];

static void prepare(void) {
  values[0] = values[1] = 0;
}

static void write_twice(void) {
  values[0] = 1;  // <- here
  values[1] = 1;
  turn_give(&written);
  turn_take(&seen);
  values[0] = 2;  // <- here
  values[1] = 2;
}

static void* reader(void* unused) {
  turn_take(&written);
  copies[0] = values[0];  // <- here
  copies[1] = values[1];
  turn_give(&seen);
  return unused;
}

int main(void) {
  written = turn_make();
  seen = turn_make();
  prepare();
  pthread_t thread;
  pthread_create(&thread, NULL, reader, NULL);
  write_twice();
  pthread_join(thread, NULL);
  printf("%d %d\n", copies[0], copies[1]);
  return 0;
}
