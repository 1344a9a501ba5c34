// verdict: violated
// blocks: twice
// output: done
// Someone takes the lock between the two times that a block takes it, and nothing else happens: the
// lock alone says that the block was not atomic. The thread has had the lock last before, so that
// nobody is told of the first time until the other one comes (docs/live.md, "What is quiet").
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Turn taken, given;

static void take_lock(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

static void twice(int disturbed) {
  take_lock();
  if (disturbed) {
    turn_give(&taken);
    turn_take(&given);
  }
  take_lock();
}

static void* other(void* unused) {
  turn_take(&taken);
  take_lock();
  turn_give(&given);
  return unused;
}

int main(void) {
  taken = turn_make();
  given = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  for (int i = 0; i < 10; ++i) twice(0);
  twice(1);
  pthread_join(thread, NULL);
  puts("done");
  return 0;
}
