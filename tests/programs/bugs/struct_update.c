// verdict: violated
// blocks: set_second
// output: 0 2
// A structure is copied out under the lock, changed, and copied back under the lock: memcpy writes
// the fields that nobody meant to change.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "turns.h"

struct Settings {
  int first, second;
  char rest[400];
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct Settings settings;
static Turn copied, done;

static void set_second(int value) {
  struct Settings mine;
  pthread_mutex_lock(&mutex);
  memcpy(&mine, &settings, sizeof(mine));  // <- here
  pthread_mutex_unlock(&mutex);
  mine.second = value;
  turn_give(&copied);
  turn_take(&done);
  pthread_mutex_lock(&mutex);
  settings = mine;  // <- here
  pthread_mutex_unlock(&mutex);
}

static void* other(void* unused) {
  turn_take(&copied);
  pthread_mutex_lock(&mutex);
  settings.first = 1;  // <- here
  pthread_mutex_unlock(&mutex);
  turn_give(&done);
  return unused;
}

int main(void) {
  copied = turn_make();
  done = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  set_second(2);
  pthread_join(thread, NULL);
  printf("%d %d\n", settings.first, settings.second);
  return 0;
}
