// verdict: violated
// races: found
// blocks: add_twice
// output: 0 0, 0 64
// A block goes over the same array in every call. That an earlier call has done so says nothing of
// this one, which someone comes between.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

enum { kCount = 64 };
static int values[kCount];
static Turn added, changed;

static void add_twice(int disturbed, int* first, int* second) {
  *first = *second = 0;
  for (int i = 0; i < kCount; ++i) *first += values[i];  // <- here
  if (disturbed) {
    turn_give(&added);
    turn_take(&changed);
  }
  for (int i = 0; i < kCount; ++i) *second += values[i];  // <- here
}

static void* changer(void* unused) {
  turn_take(&added);
  for (int i = 0; i < kCount; ++i) values[i] = 1;  // <- here
  turn_give(&changed);
  return unused;
}

int main(void) {
  added = turn_make();
  changed = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, changer, NULL);
  int sums[4];
  for (int i = 0; i < 100; ++i) add_twice(0, &sums[0], &sums[1]);
  add_twice(1, &sums[2], &sums[3]);
  pthread_join(thread, NULL);
  printf("%d %d, %d %d\n", sums[0], sums[1], sums[2], sums[3]);
  return 0;
}
