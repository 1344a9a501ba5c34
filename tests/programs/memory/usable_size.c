// verdict: clean
// blocks: use
// output: done
// Memory that one thread gives back and another gets, and uses beyond what it asked for, as
// malloc_usable_size allows. The pipe orders nothing; the memory is new all the same.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2];

static void use(char* memory) {
  const size_t size = malloc_usable_size(memory);
  for (size_t i = 0; i < size; ++i) memory[i] = 1;
}

static void* first(void* unused) {
  char* memory = malloc(2008);
  use(memory);
  free(memory);
  if (write(ends[1], "x", 1) != 1) return 0;
  return unused;
}

int main(void) {
  char byte;
  pthread_t thread;
  // One heap for both, and no memory that a thread keeps for itself: it is too large for that.
  mallopt(M_ARENA_MAX, 1);
  if (pipe(ends) != 0) return 1;
  pthread_create(&thread, 0, first, 0);
  if (read(ends[0], &byte, 1) != 1) return 1;
  char* memory = malloc(1999);
  use(memory);
  free(memory);
  pthread_join(thread, 0);
  puts("done");
  return 0;
}
