// verdict: clean
// blocks: increment
// output: 2000
// pthread_spin_lock spins inside of the C library: only its success is an acquire.
#include <pthread.h>
#include <stdio.h>

static pthread_spinlock_t lock;
static int counter;

static void increment(void) {
  pthread_spin_lock(&lock);
  counter = counter + 1;
  pthread_spin_unlock(&lock);
}

static void* work(void* unused) {
  for (int i = 0; i < 500; ++i) increment();
  return unused;
}

int main(void) {
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", counter);
  pthread_spin_destroy(&lock);
  return 0;
}
