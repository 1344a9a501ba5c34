// verdict: clean
// blocks: fill
// output: 67108864
// A range of 16 MB is one call of memset; four threads fill their quarters of one block of memory.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 4 };
static const size_t kQuarter = (size_t)16 << 20;
static unsigned char* memory;

static void fill(size_t part) {
  memset(memory + part * kQuarter, (int)part + 1, kQuarter);
  memcpy(memory + part * kQuarter, memory + part * kQuarter + kQuarter / 2, kQuarter / 2);
}

static void* work(void* part) {
  fill((size_t)part);
  return NULL;
}

int main(void) {
  memory = malloc(kThreads * kQuarter);
  pthread_t threads[kThreads];
  for (size_t i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  size_t filled = 0;
  for (size_t i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    if (memory[i * kQuarter] == i + 1 && memory[(i + 1) * kQuarter - 1] == i + 1)
      filled += kQuarter;
  }
  printf("%zu\n", filled);
  free(memory);
  return 0;
}
