// Counts until it is killed: count PAGE. Each thread stores 1, 2, 3, … into a variable of its own
// and tells the test how far it is, through memory that outlives it.
#include <pthread.h>
#include <stddef.h>

#include "witness.h"

static volatile uint64_t first_count, second_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t shared;

static void meet(void) {
  pthread_mutex_lock(&mutex);
  shared = shared + 1;
  pthread_mutex_unlock(&mutex);
}

static void* count_second(void* unused) {
  for (uint64_t i = 1;; ++i) {
    second_count = i;
    witness_count(1, i);
    if (i % 64 == 0) meet();
  }
  return unused;
}

int main(int argc, char** argv) {
  (void)argc;
  witness_open(argv[1]);
  pthread_t thread;
  pthread_create(&thread, NULL, count_second, NULL);
  for (uint64_t i = 1;; ++i) {
    first_count = i;
    witness_count(0, i);
    if (i % 64 == 0) meet();
  }
}
