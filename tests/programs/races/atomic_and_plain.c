// verdict: clean
// races: found
// blocks: bump, look
// output: done
// One thread updates a counter atomically, another reads it as if it was its own.
#include <pthread.h>
#include <stdio.h>

static int counter;

static void bump(void) {
  __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
}

static int look(void) {
  return counter;
}

static void* other(void* unused) {
  bump();
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  const int seen = look();
  pthread_join(thread, NULL);
  puts(seen > 1 ? "odd" : "done");
  return 0;
}
