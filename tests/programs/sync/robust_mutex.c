// verdict: clean
// blocks: increment
// output: 302, owner died 1
// The owner of a robust mutex ends without unlocking it; whoever locks next has it all the same.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex;
static int counter, owner_died;

static void increment(void) {
  if (pthread_mutex_lock(&mutex) == EOWNERDEAD) {
    owner_died = 1;
    pthread_mutex_consistent(&mutex);
  }
  counter = counter + 1;
  pthread_mutex_unlock(&mutex);
}

static void* dies(void* unused) {
  pthread_mutex_lock(&mutex);
  counter = counter + 2;
  return unused;
}

static void* work(void* unused) {
  for (int i = 0; i < 100; ++i) increment();
  return unused;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_t first, threads[3];
  pthread_create(&first, NULL, dies, NULL);
  pthread_join(first, NULL);
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  printf("%d, owner died %d\n", counter, owner_died);
  pthread_mutex_destroy(&mutex);
  return 0;
}
