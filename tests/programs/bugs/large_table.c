// verdict: violated
// races: found
// blocks: look_twice
// output: 0 1
// A block goes through so much memory, here and there, that what it knows of it has to be kept in
// more room; and what it looked at before and after that was changed in between.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

enum { kCount = 3 << 16 };
static long values[kCount];
static long watched;
static Turn looked, changed;
static volatile unsigned long mixed;

__attribute__((noinline)) static long look(void) {
  return watched;  // <- here
}

__attribute__((noinline)) static long at(unsigned long index) {
  return values[index];
}

static long wander(void) {
  long all = 0;
  for (unsigned long i = 0; i < 2ul * kCount; ++i) all += at((i * mixed) % kCount);
  return all;
}

static void look_twice(long* first, long* second) {
  *first = look() + wander();
  turn_give(&looked);
  turn_take(&changed);
  *second = look();
}

static void* changer(void* unused) {
  turn_take(&looked);
  watched = 1;  // <- here
  turn_give(&changed);
  return unused;
}

int main(void) {
  mixed = 0x9E3779B1;
  looked = turn_make();
  changed = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, changer, NULL);
  long first = 0, second = 0;
  look_twice(&first, &second);
  pthread_join(thread, NULL);
  printf("%ld %ld\n", first, second);
  return 0;
}
