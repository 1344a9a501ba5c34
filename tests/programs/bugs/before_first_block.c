// verdict: violated
// races: found
// blocks: look_twice
// output: 1 2
// A thread writes before the first block of the run begins, which nobody has to look at, and again
// while that block is open, without synchronization in between: this one must be seen.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

static long value;
static Turn first, begun, changed;

static void* writer(void* unused) {
  value = 1;
  turn_give(&first);
  turn_take(&begun);
  value = 2;  // <- here
  turn_give(&changed);
  return unused;
}

static void look_twice(long* before, long* after) {
  *before = value;  // <- here
  turn_give(&begun);
  turn_take(&changed);
  *after = value;  // <- here
}

int main(void) {
  first = turn_make();
  begun = turn_make();
  changed = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, writer, NULL);
  turn_take(&first);
  long before = 0, after = 0;
  look_twice(&before, &after);
  pthread_join(thread, NULL);
  printf("%ld %ld\n", before, after);
  return 0;
}
