// verdict: clean
// blocks: try_increment
// output: 2000
// A trylock that fails has acquired nothing, and must not look like a release and an acquire in the
// middle of somebody's block.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static int try_increment(void) {
  if (pthread_mutex_trylock(&mutex) != 0) return 0;
  counter += 1;
  sched_yield();
  counter += 1;
  pthread_mutex_unlock(&mutex);
  return 1;
}

static void* work(void* unused) {
  for (int i = 0; i < 250;) {
    if (try_increment()) {
      ++i;
    } else {
      sched_yield();
    }
  }
  return unused;
}

int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", counter);
  return 0;
}
