// verdict: clean
// blocks: increment
// output: 1500
// 1,500 threads over a run, at most 10 at a time: their stacks, thread-local memory and handles are
// used again and again.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void increment(int* local) {
  pthread_mutex_lock(&mutex);
  *local = counter;
  counter = *local + 1;
  pthread_mutex_unlock(&mutex);
}

static void* work(void* unused) {
  int local;
  increment(&local);
  return unused;
}

int main(void) {
  for (int round = 0; round < 150; ++round) {
    pthread_t threads[10];
    for (int i = 0; i < 10; ++i) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 10; ++i) pthread_join(threads[i], NULL);
  }
  printf("%d\n", counter);
  return 0;
}
