// verdict: violated
// races: found
// blocks: add_twice
// output: 0 64
// A block goes over the same array twice, by the same loop, and someone comes in between: that the
// loop is known from the first time says nothing of the second.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

enum { kCount = 64 };
static int values[kCount];
static Turn added, changed;

__attribute__((noinline)) static int sum(void) {
  int all = 0;
  for (int i = 0; i < kCount; ++i) all += values[i];  // <- here
  return all;
}

static void add_twice(int* first, int* second) {
  *first = sum();
  turn_give(&added);
  turn_take(&changed);
  *second = sum();
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
  int first = 0, second = 0;
  add_twice(&first, &second);
  pthread_join(thread, NULL);
  printf("%d %d\n", first, second);
  return 0;
}
