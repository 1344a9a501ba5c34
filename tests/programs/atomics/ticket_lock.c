// verdict: clean
// blocks: update
// output: 2000
// A ticket lock: the one who unlocks and the one who locks next touch the counter, not each other.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_uint next_ticket, now_serving;
static int counter, check;

static void update(void) {
  counter = counter + 1;
  check = counter;
}

static void* work(void* unused) {
  for (int i = 0; i < 500; ++i) {
    const unsigned mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
    while (atomic_load_explicit(&now_serving, memory_order_acquire) != mine) sched_yield();
    update();
    atomic_store_explicit(&now_serving, mine + 1, memory_order_release);
  }
  return unused;
}

int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", counter == check ? counter : -1);
  return 0;
}
