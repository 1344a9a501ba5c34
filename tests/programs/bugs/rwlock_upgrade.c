// verdict: violated
// blocks: raise_to
// output: 5
// A read lock is given up to take the write lock: what was read may be old by then.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int highest;
static Turn looked, done;

static void raise_to(int value, int slow) {
  pthread_rwlock_rdlock(&lock);
  const int old = highest;  // <- here
  pthread_rwlock_unlock(&lock);
  if (old >= value) return;
  if (slow) {
    turn_give(&looked);
    turn_take(&done);
  }
  pthread_rwlock_wrlock(&lock);
  highest = value;  // <- here
  pthread_rwlock_unlock(&lock);
}

static void* other(void* unused) {
  turn_take(&looked);
  raise_to(9, 0);
  turn_give(&done);
  return unused;
}

int main(void) {
  looked = turn_make();
  done = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  raise_to(5, 1);
  pthread_join(thread, NULL);
  printf("%d\n", highest);
  return 0;
}
