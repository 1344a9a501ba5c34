// verdict: clean
// races: found
// blocks: reader
// output: done
// A loop over two ints, and a read of the eight bytes that they are.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

typedef long __attribute__((may_alias)) Both;

static _Alignas(64) int values[16];
static Turn read_it;
static volatile int count = 2;
static volatile long sink;

__attribute__((noinline)) static void fill(int* first, int length) {
  for (int i = 0; i < length; ++i) first[i] = i + length;
}

static void* reader(void* unused) {
  sink = *(volatile Both*)values;
  turn_give(&read_it);
  return unused;
}

int main(void) {
  read_it = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, reader, NULL);
  turn_take(&read_it);
  fill(values, count);
  pthread_join(thread, NULL);
  printf("done\n");
  return 0;
}
