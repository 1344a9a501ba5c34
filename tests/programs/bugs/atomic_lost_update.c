// verdict: violated
// blocks: increment
// output: lost
// A counter is loaded and stored atomically, but not updated atomically. Runs until an update is
// lost without any help.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int counter;
static int done[2];

static void increment(void) {
  const int old = atomic_load_explicit(&counter, memory_order_relaxed);  // <- here
  if (old % 16 == 0) sched_yield();
  atomic_store_explicit(&counter, old + 1, memory_order_relaxed);  // <- here
}

static void* work(void* mine) {
  for (int i = 0; i < 2000; ++i) {
    increment();
    ++*(int*)mine;
  }
  return NULL;
}

int main(void) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    atomic_store(&counter, 0);
    done[0] = done[1] = 0;
    pthread_t one, two;
    pthread_create(&one, NULL, work, &done[0]);
    pthread_create(&two, NULL, work, &done[1]);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    if (atomic_load(&counter) != done[0] + done[1]) break;
  }
  puts(atomic_load(&counter) == done[0] + done[1] ? "kept" : "lost");
  return 0;
}
