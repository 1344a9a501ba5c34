// verdict: clean
// blocks: fill_and_sum
// output: 4000 blocks
// Small pieces of one heap go from thread to thread as fast as the allocator can turn them over.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 4, kRounds = 1000, kSize = 2000 };  // above what a thread's cache keeps

static int fill_and_sum(int round) {
  int sum = 0;
  for (int part = 0; part < 2; ++part) {
    volatile int* numbers = malloc(kSize);
    for (int i = 0; i < 8; ++i) numbers[i] = round;
    for (int i = 0; i < 8; ++i) sum += numbers[i];
    free((void*)numbers);
  }
  return sum;
}

static void* work(void* done) {
  for (int round = 0; round < kRounds; ++round) {
    if (fill_and_sum(round) == 16 * round) ++*(int*)done;
  }
  return NULL;
}

int main(void) {
  mallopt(M_ARENA_MAX, 1);
  pthread_t threads[kThreads];
  static int done[kThreads];
  int total = 0;
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, &done[i]);
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    total += done[i];
  }
  printf("%d blocks\n", total);
  return 0;
}
