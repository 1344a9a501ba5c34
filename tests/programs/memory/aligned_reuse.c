// verdict: clean
// blocks: aligned_twice
// output: done
// posix_memalign and aligned_alloc give out memory too, and free takes it back.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "turns.h"

enum { kSize = 1 << 18 };
static Turn to_other, to_first;

static void with_aligned(void) {
  volatile long* numbers = aligned_alloc(4096, kSize);
  numbers[0] = 1;
  numbers[1] = numbers[0] + 1;
  free((void*)numbers);
}

static void aligned_twice(void) {
  with_aligned();
  turn_give(&to_other);
  turn_take(&to_first);
  with_aligned();
}

static void* other(void* unused) {
  turn_take(&to_other);
  void* place = NULL;
  if (posix_memalign(&place, 4096, kSize) != 0) abort();
  volatile long* numbers = place;
  numbers[0] = 5;
  numbers[1] = numbers[0];
  free(place);
  turn_give(&to_first);
  return unused;
}

int main(void) {
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  to_other = turn_make();
  to_first = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  aligned_twice();
  pthread_join(thread, NULL);
  puts("done");
  return 0;
}
