// verdict: clean
// blocks: increment
// exit: 7
// output: leaving
// exit() is called by one thread while others are in the middle of blocks: those blocks have no end
// in the trace, and the exit code is the program's.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "turns.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static Turn started, never;

static void increment(int wait) {
  pthread_mutex_lock(&mutex);
  counter = counter + 1;
  if (wait) {
    turn_give(&started);
    turn_take(&never);
  }
  counter = counter + 1;
  pthread_mutex_unlock(&mutex);
}

static void* work(void* unused) {
  for (int i = 0; i < 100; ++i) increment(i == 99);
  return unused;
}

int main(void) {
  started = turn_make();
  never = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  turn_take(&started);
  puts("leaving");
  exit(7);
}
