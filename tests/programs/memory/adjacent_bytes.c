// verdict: clean
// blocks: left_twice
// output: 2 7 30000
// Small fields side by side in one word belong to different threads.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

static struct {
  char left;
  char right;
  short pair;
  int number;
} fields;
static Turn to_other, to_first;

static void left_twice(void) {
  fields.left = 1;
  turn_give(&to_other);
  turn_take(&to_first);
  fields.left = (char)(fields.left + 1);
}

static void* other(void* unused) {
  turn_take(&to_other);
  fields.right = 7;
  fields.pair = 30000;
  turn_give(&to_first);
  return unused;
}

int main(void) {
  to_other = turn_make();
  to_first = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  left_twice();
  pthread_join(thread, NULL);
  printf("%d %d %d\n", fields.left, fields.right, fields.pair);
  return 0;
}
