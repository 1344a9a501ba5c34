// verdict: violated
// blocks: copy_message
// output: checked 4, copied 60
// A length is read twice, once to check it and once to use it, and changes in between.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "turns.h"

static atomic_int length = 4;
static Turn checked, changed;

static int copy_message(int* first) {
  *first = atomic_load_explicit(&length, memory_order_acquire);  // <- here
  if (*first > 8) return 0;
  turn_give(&checked);
  turn_take(&changed);
  return atomic_load_explicit(&length, memory_order_acquire);  // <- here
}

static void* sender(void* unused) {
  turn_take(&checked);
  atomic_store_explicit(&length, 60, memory_order_release);  // <- here
  turn_give(&changed);
  return unused;
}

int main(void) {
  checked = turn_make();
  changed = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, sender, NULL);
  int first = 0;
  const int second = copy_message(&first);
  pthread_join(thread, NULL);
  printf("checked %d, copied %d\n", first, second);
  return 0;
}
