// verdict: clean
// races: found
// blocks: set
// output: done
// Two threads write one variable, each once, and nothing orders them.
#include <pthread.h>
#include <stdio.h>

static int last;

static void set(int value) {
  last = value;
}

static void* other(void* unused) {
  set(1);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  set(2);
  pthread_join(thread, NULL);
  puts("done");
  return 0;
}
