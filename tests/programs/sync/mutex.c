// verdict: clean
// blocks: increment
// output: 4000
// The plain case: a read and a write under a mutex.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void increment(void) {
  pthread_mutex_lock(&mutex);
  int old = counter;
  counter = old + 1;
  pthread_mutex_unlock(&mutex);
}

static void* work(void* unused) {
  for (int i = 0; i < 1000; ++i) increment();
  return unused;
}

int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", counter);
  return 0;
}
