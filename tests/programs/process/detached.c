// verdict: clean
// blocks: increment
// output: 500
// Detached threads are never joined; their stacks go back by themselves.
#include <pthread.h>
#include <stdio.h>

enum { kThreads = 50 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static int counter, ended;

static void increment(void) {
  pthread_mutex_lock(&mutex);
  counter = counter + 1;
  pthread_mutex_unlock(&mutex);
}

static void* work(void* unused) {
  for (int i = 0; i < 10; ++i) increment();
  pthread_mutex_lock(&mutex);
  if (++ended == kThreads) pthread_cond_signal(&finished);
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    if (i % 2 == 0) {
      pthread_create(&thread, &attributes, work, NULL);
    } else {
      pthread_create(&thread, NULL, work, NULL);
      pthread_detach(thread);
    }
  }
  pthread_mutex_lock(&mutex);
  while (ended < kThreads) pthread_cond_wait(&finished, &mutex);
  printf("%d\n", counter);
  pthread_mutex_unlock(&mutex);
  return 0;
}
