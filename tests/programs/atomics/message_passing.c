// verdict: clean
// blocks: write_message, read_message
// output: 500
// Plain data published by a release store and read after an acquire load, both ways in turn.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static int message[4];
static atomic_int full;

static void write_message(int round) {
  for (int i = 0; i < 4; ++i) message[i] = round + i;
}

static int read_message(int round) {
  int good = 1;
  for (int i = 0; i < 4; ++i) good = good && message[i] == round + i;
  return good;
}

static void* writer(void* unused) {
  for (int round = 0; round < 500; ++round) {
    while (atomic_load_explicit(&full, memory_order_acquire) != 0) sched_yield();
    write_message(round);
    atomic_store_explicit(&full, 1, memory_order_release);
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, writer, NULL);
  int good = 0;
  for (int round = 0; round < 500; ++round) {
    while (atomic_load_explicit(&full, memory_order_acquire) == 0) sched_yield();
    good += read_message(round);
    atomic_store_explicit(&full, 0, memory_order_release);
  }
  pthread_join(thread, NULL);
  printf("%d\n", good);
  return 0;
}
