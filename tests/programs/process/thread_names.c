// verdict: clean
// blocks: increment
// output: worker-1 400
// Threads that name themselves, and threads that others name.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void increment(void) {
  pthread_mutex_lock(&mutex);
  counter = counter + 1;
  pthread_mutex_unlock(&mutex);
}

static void* work(void* name) {
  if (name != NULL) pthread_setname_np(pthread_self(), name);
  for (int i = 0; i < 200; ++i) increment();
  return NULL;
}

static void* named_by_other(void* gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return work(NULL);
}

int main(void) {
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_t one, two;
  pthread_create(&one, NULL, work, "worker-0");
  pthread_mutex_lock(&gate);
  pthread_create(&two, NULL, named_by_other, &gate);
  pthread_setname_np(two, "worker-1");
  char name[16];
  pthread_getname_np(two, name, sizeof(name));
  pthread_mutex_unlock(&gate);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  printf("%s %d\n", name, counter);
  return 0;
}
