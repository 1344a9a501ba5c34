// verdict: clean
// blocks: write_both, read_both
// output: 200 consistent
// A sequence lock whose reader comes only when no writer is inside: what it reads is all of one
// write. (A reader that comes in between and tries again is no atomic block, and is not one here.)
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_uint sequence;
static atomic_int left, right;
static atomic_int round_done;

static void write_both(int value) {
  const unsigned start = atomic_load_explicit(&sequence, memory_order_relaxed);
  atomic_store_explicit(&sequence, start + 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&left, value, memory_order_relaxed);
  atomic_store_explicit(&right, -value, memory_order_relaxed);
  atomic_store_explicit(&sequence, start + 2, memory_order_release);
}

static int read_both(void) {
  const unsigned start = atomic_load_explicit(&sequence, memory_order_acquire);
  const int sum = atomic_load_explicit(&left, memory_order_relaxed) +
                  atomic_load_explicit(&right, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  if (start % 2 != 0 || atomic_load_explicit(&sequence, memory_order_relaxed) != start) return 0;
  return sum == 0;
}

static void* writer(void* unused) {
  for (int i = 0; i < 200; ++i) {
    while (atomic_load(&round_done) != 2 * i) sched_yield();
    write_both(i);
    atomic_store(&round_done, 2 * i + 1);
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, writer, NULL);
  int consistent = 0;
  for (int i = 0; i < 200; ++i) {
    while (atomic_load(&round_done) != 2 * i + 1) sched_yield();
    consistent += read_both();
    atomic_store(&round_done, 2 * i + 2);
  }
  pthread_join(thread, NULL);
  printf("%d consistent\n", consistent);
  return 0;
}
