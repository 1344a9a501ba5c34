// verdict: violated
// blocks: submit_order
// output: 2 orders, stock -1
// The two critical sections are three calls away from the block, in different functions.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int stock = 1, orders;
static Turn looked, done;

static int read_stock(void) {
  pthread_mutex_lock(&mutex);
  const int now = stock;  // <- here
  pthread_mutex_unlock(&mutex);
  return now;
}

static int in_stock(void) {
  return read_stock() > 0;
}

static int acceptable(int slow) {
  if (!in_stock()) return 0;
  if (slow) {
    turn_give(&looked);
    turn_take(&done);
  }
  return 1;
}

static void write_stock(int change) {
  pthread_mutex_lock(&mutex);
  stock += change;  // <- here
  ++orders;
  pthread_mutex_unlock(&mutex);
}

static void book(void) {
  write_stock(-1);
}

static void submit_order(int slow) {
  if (acceptable(slow)) book();
}

static void* other(void* unused) {
  turn_take(&looked);
  submit_order(0);
  turn_give(&done);
  return unused;
}

int main(void) {
  looked = turn_make();
  done = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  submit_order(1);
  pthread_join(thread, NULL);
  printf("%d orders, stock %d\n", orders, stock);
  return 0;
}
