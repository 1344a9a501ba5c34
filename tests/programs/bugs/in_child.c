// verdict: violated
// blocks: add
// output: child 5
// output: parent 0
// The bug happens in a child of fork, whose trace is a file of its own.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "turns.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static Turn looked, done;

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

static void* other(void* unused) {
  turn_take(&looked);
  add(3, 0);
  turn_give(&done);
  return unused;
}

int main(void) {
  looked = turn_make();
  done = turn_make();
  const pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    add(5, 1);
    pthread_join(thread, NULL);
    printf("child %d\n", counter);
    return 0;
  }
  waitpid(child, NULL, 0);
  printf("parent %d\n", counter);
  return 0;
}
