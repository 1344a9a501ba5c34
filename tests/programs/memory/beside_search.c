// verdict: clean
// blocks: divide_twice
// output: 12 1
// Two searches go on where they have stopped, and what they find is swapped, twice; in between
// someone comes to what lies just outside of where they were. What follows each other is kept as
// one, and no more.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

enum { kCount = 64, kFrom = 8, kTo = 55 };
static int values[kCount];
static Turn sorted, changed;

/// Those below the pivot to the left: each search goes on where it has stopped.
__attribute__((noinline)) static int divide(int* left, int* right, int pivot) {
  int swaps = 0;
  while (1) {
    while (*left < pivot) ++left;
    while (pivot < *right) --right;
    if (left >= right) return swaps;
    const int other = *left;
    *left++ = *right;
    *right-- = other;
    ++swaps;
  }
}

static void divide_twice(int* first, int* second) {
  *first = divide(values + kFrom, values + kTo, 50);
  turn_give(&sorted);
  turn_take(&changed);
  *second = divide(values + kFrom, values + kTo, 50);
}

static void* changer(void* unused) {
  turn_take(&sorted);
  values[kFrom - 1] = values[kTo + 1] = 1;
  turn_give(&changed);
  return unused;
}

int main(void) {
  for (int i = 0; i < kCount; ++i) values[i] = i * 37 % 100;
  sorted = turn_make();
  changed = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, changer, NULL);
  int first = 0, second = 0;
  divide_twice(&first, &second);
  pthread_join(thread, NULL);
  printf("%d %d\n", first, second);
  return 0;
}
