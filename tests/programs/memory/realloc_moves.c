// verdict: clean
// blocks: grow_twice
// output: 7 7
// realloc moves: the old place may be somebody else's at once, and the new place is a new variable
// whose contents were not written by whoever wrote there before.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "turns.h"

static Turn to_other, to_first;

static int grow_twice(void) {
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    int* numbers = calloc(50000, sizeof(int));
    numbers[10] = 7;
    numbers = realloc(numbers, 90000 * sizeof(int));
    sum += numbers[10];
    free(numbers);
    if (round == 0) {
      turn_give(&to_other);
      turn_take(&to_first);
    }
  }
  return sum / 2;
}

static void* other(void* result) {
  turn_take(&to_other);
  int* numbers = malloc(50000 * sizeof(int));
  numbers[10] = 7;
  numbers = realloc(numbers, 90000 * sizeof(int));
  *(int*)result = numbers[10];
  free(numbers);
  turn_give(&to_first);
  return NULL;
}

int main(void) {
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  to_other = turn_make();
  to_first = turn_make();
  pthread_t thread;
  int result = 0;
  pthread_create(&thread, NULL, other, &result);
  const int mine = grow_twice();
  pthread_join(thread, NULL);
  printf("%d %d\n", mine, result);
  return 0;
}
