// verdict: clean
// races: found
// blocks: second
// tsan: skip: it keeps freed memory apart for a while
// output: done
// A thread writes to memory that another one frees, gets again and writes to; then the first one
// writes there once more. Nothing orders the two: a race, on what is another variable by then.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "turns.h"

static Turn there, back;

static void* first(void* unused) {
  long* memory = malloc(64);
  *memory = 1;
  turn_send(&there, memory);
  memory = turn_receive(&back);
  *memory = 3;
  return unused;
}

static void* second(void* unused) {
  long* const old = turn_receive(&there);
  free(old);
  long* const memory = malloc(64);
  *memory = 2;
  turn_send(&back, memory);
  return unused;
}

int main(void) {
  there = turn_make();
  back = turn_make();
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  printf("done\n");
  return 0;
}
