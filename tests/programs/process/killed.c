// verdict: clean
// blocks: increment
// exit: 139
// output: about to crash
// The program dies of a signal: the recording has all that happened, and the code is the signal's.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void increment(void) {
  pthread_mutex_lock(&mutex);
  counter = counter + 1;
  pthread_mutex_unlock(&mutex);
}

static void* work(void* unused) {
  for (int i = 0; i < 100; ++i) increment();
  return unused;
}

int main(void) {
  pthread_t one, two;
  pthread_create(&one, NULL, work, NULL);
  pthread_create(&two, NULL, work, NULL);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  puts(counter == 200 ? "about to crash" : "wrong");
  fflush(stdout);
  raise(SIGSEGV);
  return 0;
}
