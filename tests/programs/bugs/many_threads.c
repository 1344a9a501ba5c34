// verdict: violated
// races: found
// record: --order exact
// blocks: late, between
// output: 2
// The violated block is that of a thread beyond the 64 of which positions are kept, and the other
// one comes behind it by a lock alone: that is not past before the block ends.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

enum { kMany = 70 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;
static Turn born, looked, begin, done, stop;

static void lock_once(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

static void late(void) {
  lock_once();
  turn_give(&looked);
  turn_take(&done);
  ++count;  // <- here
}

static void between(void) {
  lock_once();
  ++count;  // <- here
}

static void* first(void* unused) {
  turn_give(&born);
  turn_take(&begin);
  between();
  // What is past is seen when something is told.
  for (int i = 0; i < 100; ++i) lock_once();
  turn_give(&done);
  turn_take(&stop);
  return unused;
}

static void* idle(void* unused) {
  turn_give(&born);
  turn_take(&stop);
  return unused;
}

static void* last(void* unused) {
  late();
  return unused;
}

int main(void) {
  born = turn_make();
  looked = turn_make();
  begin = turn_make();
  done = turn_make();
  stop = turn_make();
  pthread_t threads[kMany];
  for (int i = 0; i < kMany; ++i) {
    pthread_create(&threads[i], NULL, i == 0 ? first : idle, NULL);
    turn_take(&born);
  }
  pthread_t thread;
  pthread_create(&thread, NULL, last, NULL);
  turn_take(&looked);
  turn_give(&begin);
  pthread_join(thread, NULL);
  for (int i = 0; i < kMany; ++i) turn_give(&stop);
  for (int i = 0; i < kMany; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", count);
  return 0;
}
