// verdict: clean
// blocks: increment
// output: 200
// main ends with pthread_exit; the program goes on with its other threads.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static pthread_t first;

static void increment(void) {
  pthread_mutex_lock(&mutex);
  counter = counter + 1;
  pthread_mutex_unlock(&mutex);
}

static void* work(void* unused) {
  for (int i = 0; i < 100; ++i) increment();
  return unused;
}

static void* last(void* other) {
  work(NULL);
  pthread_join(first, NULL);
  pthread_join(*(pthread_t*)other, NULL);
  printf("%d\n", counter);
  return NULL;
}

int main(void) {
  static pthread_t one, two;
  first = pthread_self();
  pthread_create(&one, NULL, work, NULL);
  pthread_create(&two, NULL, last, &one);
  pthread_exit(NULL);
}
