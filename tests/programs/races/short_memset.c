// verdict: clean
// races: found
// blocks: reader
// output: done
// A memset of four bytes, which only the run says, and a read of an int there.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "turns.h"

static _Alignas(64) int values[16];
static Turn read_it;
static volatile int length = 4;
static volatile int sink;

static void* reader(void* unused) {
  sink = values[0];
  turn_give(&read_it);
  return unused;
}

int main(void) {
  read_it = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, reader, NULL);
  turn_take(&read_it);
  memset(values, 1, (size_t)length);
  pthread_join(thread, NULL);
  printf("done\n");
  return 0;
}
