// verdict: violated
// races: found
// blocks: keep_reading, add_twice
// output: 0 7
// More blocks have read a place than are told apart there. Another block goes over it twice, by the
// same loop, and someone writes in between.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "turns.h"

enum { kReaders = 40, kCount = 64, kPlace = 30 };
static long values[kCount];
static char answer[8];
static volatile long sinks[kReaders];
static Turn reading, go, added, changed;

static void keep_reading(long i) {
  sinks[i] = values[kPlace];
  turn_give(&reading);
  turn_take(&go);
}
static void* reader(void* i) {
  keep_reading((long)i);
  return NULL;
}

__attribute__((noinline)) static long sum(const long* first, long count) {
  long all = 0;
#pragma clang loop vectorize(disable) unroll(disable)
  for (long i = 0; i < count; ++i) all += first[2 * i];  // <- here
  return all;
}

// Without a local variable whose address is known elsewhere: a new one would hide it.
static void add_twice(long* sums) {
  for (int i = 0; i < 2; ++i) {
    sums[i] = sum(values, kCount / 2);
    if (i != 0) break;
    if (write(added.out, "t", 1) != 1) abort();
    if (read(changed.in, answer, 1) != 1) abort();
  }
}

static void* changer(void* unused) {
  turn_take(&added);
  values[kPlace] = 7;  // <- here
  turn_give(&changed);
  return unused;
}

int main(void) {
  reading = turn_make();
  go = turn_make();
  added = turn_make();
  changed = turn_make();
  pthread_t readers[kReaders], other;
  for (long i = 0; i < kReaders; ++i) pthread_create(&readers[i], NULL, reader, (void*)i);
  pthread_create(&other, NULL, changer, NULL);
  for (int i = 0; i < kReaders; ++i) turn_take(&reading);
  static long sums[2];
  add_twice(sums);
  pthread_join(other, NULL);
  for (int i = 0; i < kReaders; ++i) turn_give(&go);
  for (int i = 0; i < kReaders; ++i) pthread_join(readers[i], NULL);
  printf("%ld %ld\n", sums[0], sums[1]);
  return 0;
}
