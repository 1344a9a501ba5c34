// verdict: violated
// blocks: add
// output: 5
// A signal that waits for a new thread is handled before the thread's own code; it is still the
// thread that was created, with everything that it does.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "turns.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static volatile sig_atomic_t handled[100];
static Turn looked, done;

static void handle(int number) {
  for (int i = 0; i < 100; ++i) handled[i] = number;
}

static void add(int by, int slow) {
  pthread_mutex_lock(&mutex);
  int old = counter;  // <- here
  pthread_mutex_unlock(&mutex);
  if (slow) {
    turn_give(&looked);
    turn_take(&done);
  }
  pthread_mutex_lock(&mutex);
  counter = old + by;  // <- here
  pthread_mutex_unlock(&mutex);
}

static void* slow(void* unused) {
  add(5, 1);
  return unused;
}

static void* quick(void* unused) {
  turn_take(&looked);
  add(3, 0);
  turn_give(&done);
  return unused;
}

int main(void) {
  looked = turn_make();
  done = turn_make();
  signal(SIGUSR1, handle);
  sigset_t mask;
  sigemptyset(&mask);
  pthread_attr_t open;
  pthread_attr_init(&open);
  pthread_attr_setsigmask_np(&open, &mask);
  sigaddset(&mask, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &mask, NULL);
  pthread_t threads[2];
  kill(getpid(), SIGUSR1);
  pthread_create(&threads[0], &open, slow, NULL);
  pthread_create(&threads[1], NULL, quick, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", handled[99] == SIGUSR1 ? counter : -1);
  return 0;
}
