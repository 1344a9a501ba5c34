// verdict: clean
// blocks: scan_twice
// output: 40 40
// A block goes down an array until something stops it, and up another one, twice; in between
// someone comes to what lies just outside of both. What follows each other is kept as one, and no
// more.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

enum { kCount = 64 };
static int values[kCount], others[kCount];
static volatile int stop;
static Turn scanned, changed;

__attribute__((noinline)) static int down(const int* from) {
  int sum = 0;
  while (*from >= 0) {
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
  values[stop] = values[kCount - 1] = 2;
  others[0] = others[kCount - stop] = 2;
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
