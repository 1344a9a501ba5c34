// verdict: clean
// blocks: map_twice
// output: done
// Pages that are unmapped and mapped again by another thread are new memory.
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include "turns.h"

enum { kSize = 1 << 16 };
static Turn to_other, to_first;

static void use_page(int value) {
  volatile int* page =
      mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) abort();
  page[5] = value;
  page[6] = page[5];
  munmap((void*)page, kSize);
}

static void map_twice(void) {
  use_page(1);
  turn_give(&to_other);
  turn_take(&to_first);
  use_page(2);
}

static void* other(void* unused) {
  turn_take(&to_other);
  use_page(3);
  turn_give(&to_first);
  return unused;
}

int main(void) {
  to_other = turn_make();
  to_first = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  map_twice();
  pthread_join(thread, NULL);
  puts("done");
  return 0;
}
