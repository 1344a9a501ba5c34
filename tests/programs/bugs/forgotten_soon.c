// verdict: violated
// blocks: split, ordinary
// output: 5
// The two blocks that are no order of each other are over, and thousands of others behind them,
// before anybody has been told of them: what is past may be thrown away (runtime/draft.h), but not
// a cycle that is closed.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

enum { kOthers = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int count, others[2];
static Turn looked, done;

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
  }
  add();
}

static void ordinary(int who) {
  pthread_mutex_lock(&own[who]);
  ++others[who];
  pthread_mutex_unlock(&own[who]);
}

static void* one(void* unused) {
  turn_take(&done);
  split(0);  // the first run of a block is told of in any case
  for (int i = 0; i < kOthers; ++i) ordinary(0);
  split(1);
  for (int i = 0; i < kOthers; ++i) ordinary(0);
  turn_give(&looked);
  return unused;
}

static void* other(void* unused) {
  ordinary(1);
  turn_give(&done);
  turn_take(&looked);
  add();
  turn_give(&done);
  turn_take(&looked);
  for (int i = 0; i < kOthers; ++i) ordinary(1);
  return unused;
}

int main(void) {
  looked = turn_make();
  done = turn_make();
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, one, NULL);
  pthread_create(&threads[1], NULL, other, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", count);
  return 0;
}
