// verdict: violated
// races: found
// blocks: scan_twice
// output: 40 41
// A block goes down an array until something stops it, twice, and up another one; and someone comes
// in between to the last place that it got to. What follows each other is kept as one.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

enum { kCount = 64 };
static int values[kCount], others[kCount];
static volatile int stop;
static Turn scanned, changed;

__attribute__((noinline)) static int down(const int* from) {
  int sum = 0;
  while (*from >= 0) {  // <- here
    sum += *from;
    if (--from == values + stop) break;
  }
  return sum;
}

__attribute__((noinline)) static int up(const int* from) {
  int sum = 0;
  while (*from == 0) {
    sum += *from;
    if (++from == others + kCount - stop) break;
  }
  return sum;
}

static void scan_twice(int* first, int* second) {
  *first = down(values + kCount - 2) + up(others + 1);
  turn_give(&scanned);
  turn_take(&changed);
  *second = down(values + kCount - 2) + up(others + 1);
}

static void* changer(void* unused) {
  turn_take(&scanned);
  values[stop + 1] = 2;  // <- here
  turn_give(&changed);
  return unused;
}

int main(void) {
  for (int i = 0; i < kCount; ++i) values[i] = 1;
  stop = kCount - 2 - 40;
  scanned = turn_make();
  changed = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, changer, NULL);
  int first = 0, second = 0;
  scan_twice(&first, &second);
  pthread_join(thread, NULL);
  printf("%d %d\n", first, second);
  return 0;
}
