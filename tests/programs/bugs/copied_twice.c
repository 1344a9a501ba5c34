// verdict: violated
// races: found
// blocks: copy_twice
// output: 3 4
// A block copies a struct of several words again and again, and someone writes to the middle of it
// in between: that all of its words are known says nothing of the next time.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

typedef struct Vector {
  long x, y, z;
} Vector;

static Vector shared = {1, 1, 1};
static Turn copied, changed;

__attribute__((noinline)) static void copy(Vector* to) {
  *to = shared;  // <- here
}

static long sum_of(const Vector* vector) {
  return vector->x + vector->y + vector->z;
}

static void copy_twice(long* first, long* second) {
  Vector vector;
  for (int i = 0; i < 100; ++i) copy(&vector);
  *first = sum_of(&vector);
  turn_give(&copied);
  turn_take(&changed);
  copy(&vector);
  *second = sum_of(&vector);
}

static void* changer(void* unused) {
  turn_take(&copied);
  shared.y = 2;  // <- here
  turn_give(&changed);
  return unused;
}

int main(void) {
  copied = turn_make();
  changed = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, changer, NULL);
  long first = 0, second = 0;
  copy_twice(&first, &second);
  pthread_join(thread, NULL);
  printf("%ld %ld\n", first, second);
  return 0;
}
