// verdict: violated
// blocks: add
// output: 5
// The lost update in C11's own threads and mutexes.
#include <stdio.h>
#include <threads.h>

#include "turns.h"

static mtx_t mutex;
static int counter;
static Turn looked, done;

static void add(int by, int slow) {
  mtx_lock(&mutex);
  int old = counter;  // <- here
  mtx_unlock(&mutex);
  if (slow) {
    turn_give(&looked);
    turn_take(&done);
  }
  mtx_lock(&mutex);
  counter = old + by;  // <- here
  mtx_unlock(&mutex);
}

static int other(void* unused) {
  (void)unused;
  turn_take(&looked);
  add(3, 0);
  turn_give(&done);
  return 0;
}

int main(void) {
  mtx_init(&mutex, mtx_plain);
  looked = turn_make();
  done = turn_make();
  thrd_t thread;
  thrd_create(&thread, other, NULL);
  add(5, 1);
  thrd_join(thread, NULL);
  printf("%d\n", counter);
  return 0;
}
