// verdict: clean
// blocks: with_own_lock
// output: done
// A lock in memory that is freed and allocated again is another lock: that others used it in
// between orders nothing and is no conflict.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "turns.h"

struct Guarded {
  pthread_mutex_t mutex;
  int value;
  char rest[200000];
};
static Turn to_other, to_first;

static void use_fresh(void) {
  struct Guarded* guarded = malloc(sizeof(struct Guarded));
  pthread_mutex_init(&guarded->mutex, NULL);
  pthread_mutex_lock(&guarded->mutex);
  guarded->value = 1;
  pthread_mutex_unlock(&guarded->mutex);
  pthread_mutex_destroy(&guarded->mutex);
  free(guarded);
}

static void with_own_lock(void) {
  use_fresh();
  turn_give(&to_other);
  turn_take(&to_first);
  use_fresh();
}

static void* other(void* unused) {
  turn_take(&to_other);
  use_fresh();
  turn_give(&to_first);
  return unused;
}

int main(void) {
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  to_other = turn_make();
  to_first = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  with_own_lock();
  pthread_join(thread, NULL);
  puts("done");
  return 0;
}
