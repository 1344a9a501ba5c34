// verdict: violated
// blocks: split
// output: over
// The thread that ends the process has told so much that it has no draft any more
// (runtime/draft.h): it sends those of the others all the same.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "turns.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;
static _Atomic int told;
static Turn born, begin, looked, done, over;

static void add(void) {
  pthread_mutex_lock(&mutex);
  ++count;  // <- here
  pthread_mutex_unlock(&mutex);
}

static void split(int slow) {
  add();
  if (slow) {
    turn_give(&looked);
    turn_take(&done);
    add();
    turn_give(&over);
    pause();
  }
}

static void* one(void* unused) {
  split(0);  // the first run of a block is told of in any case
  add();
  turn_give(&born);
  turn_take(&begin);
  split(1);
  return unused;
}

static void* other(void* unused) {
  turn_give(&born);
  turn_take(&looked);
  add();
  turn_give(&done);
  pause();
  return unused;
}

int main(void) {
  born = turn_make();
  begin = turn_make();
  looked = turn_make();
  done = turn_make();
  over = turn_make();
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, one, NULL);
  pthread_create(&threads[1], NULL, other, NULL);
  turn_take(&born);
  turn_take(&born);
  for (int i = 0; i < 1000; ++i) ++told;
  turn_give(&begin);
  turn_take(&over);
  puts("over");
  exit(0);
}
