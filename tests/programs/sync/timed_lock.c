// verdict: clean
// blocks: timed_increment, clock_increment
// output: 600, timed out 1
// Locks with a deadline order like others when they succeed, and not at all when they do not.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static struct timespec after(clockid_t clock, long nanoseconds) {
  struct timespec when;
  clock_gettime(clock, &when);
  when.tv_sec += (when.tv_nsec + nanoseconds) / 1000000000;
  when.tv_nsec = (when.tv_nsec + nanoseconds) % 1000000000;
  return when;
}

static int timed_increment(long nanoseconds) {
  const struct timespec when = after(CLOCK_REALTIME, nanoseconds);
  if (pthread_mutex_timedlock(&mutex, &when) == ETIMEDOUT) return 0;
  counter = counter + 1;
  pthread_mutex_unlock(&mutex);
  return 1;
}

static int clock_increment(void) {
  const struct timespec when = after(CLOCK_MONOTONIC, 600000000000);
  if (pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &when) != 0) return 0;
  counter = counter + 1;
  pthread_mutex_unlock(&mutex);
  return 1;
}

static void* work(void* unused) {
  for (int i = 0; i < 100; ++i) {
    timed_increment(600000000000);
    clock_increment();
  }
  return unused;
}

static void* too_late(void* unused) {
  return timed_increment(1000000) ? NULL : unused;
}

int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  void* timed_out = NULL;
  pthread_mutex_lock(&mutex);
  pthread_create(&threads[0], NULL, too_late, &counter);
  pthread_join(threads[0], &timed_out);
  pthread_mutex_unlock(&mutex);
  printf("%d, timed out %d\n", counter, timed_out != NULL);
  return 0;
}
