// verdict: clean
// blocks: scratch_twice
// output: done
// Two threads get the same address from malloc one after the other, in the middle of a block: what
// was freed and what was allocated there next are different variables.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "turns.h"

enum { kSize = 200000 };  // mapped and unmapped each time, so the kernel gives the same place
static Turn to_other, to_first;

static void scratch(int value) {
  volatile int* numbers = malloc(kSize);
  numbers[0] = value;
  numbers[1] = numbers[0];
  free((void*)numbers);
}

static void scratch_twice(void) {
  scratch(1);
  turn_give(&to_other);
  turn_take(&to_first);
  scratch(2);
}

static void* other(void* unused) {
  turn_take(&to_other);
  scratch(3);
  turn_give(&to_first);
  return unused;
}

int main(void) {
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  to_other = turn_make();
  to_first = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  scratch_twice();
  pthread_join(thread, NULL);
  puts("done");
  return 0;
}
