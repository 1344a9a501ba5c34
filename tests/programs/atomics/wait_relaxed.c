// verdict: clean
// blocks: take
// output: 500
// Waits with loads that order nothing, in a function and outside; then loads with the order that
// makes the message visible, with nothing in between: that is no load like the ones before.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int ready;
static int message, sum;

static int is_ready(void) {
  return atomic_load_explicit(&ready, memory_order_relaxed);
}

static void take(void) {
  sum += message;
  atomic_store_explicit(&ready, 0, memory_order_release);
}

static void* receive(void* unused) {
  for (int i = 0; i < 500; ++i) {
    while (!is_ready()) sched_yield();
    while (atomic_load_explicit(&ready, memory_order_relaxed) == 0) sched_yield();
    if (atomic_load_explicit(&ready, memory_order_acquire) != 0) take();
  }
  return unused;
}

int main(void) {
  pthread_t receiver;
  pthread_create(&receiver, 0, receive, 0);
  for (int i = 0; i < 500; ++i) {
    while (atomic_load_explicit(&ready, memory_order_acquire) != 0) sched_yield();
    message = 1;
    atomic_store_explicit(&ready, 1, memory_order_release);
  }
  pthread_join(receiver, 0);
  printf("%d\n", sum);
  return 0;
}
