// verdict: clean
// tsan: skip: ThreadSanitizer does not understand fences
// blocks: write_message, read_message
// output: 500
// The stores and loads are relaxed; fences beside them order the plain data.
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

static void await(int value) {
  while (atomic_load_explicit(&full, memory_order_relaxed) != value) sched_yield();
  atomic_thread_fence(memory_order_acquire);
}

static void announce(int value) {
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&full, value, memory_order_relaxed);
}

static void* writer(void* unused) {
  for (int round = 0; round < 500; ++round) {
    await(0);
    write_message(round);
    announce(1);
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, writer, NULL);
  int good = 0;
  for (int round = 0; round < 500; ++round) {
    await(1);
    good += read_message(round);
    announce(0);
  }
  pthread_join(thread, NULL);
  printf("%d\n", good);
  return 0;
}
