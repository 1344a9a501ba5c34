// verdict: clean
// blocks: set, sum
// output: consistent
// Readers hold a read-write lock together: their reads overlap, and that is no conflict.
#include <pthread.h>
#include <stdio.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int left = 50, right = 50;

static void set(int value) {
  pthread_rwlock_wrlock(&lock);
  left = value;
  right = 100 - value;
  pthread_rwlock_unlock(&lock);
}

static int sum(void) {
  pthread_rwlock_rdlock(&lock);
  const int total = left + right;
  pthread_rwlock_unlock(&lock);
  return total;
}

static void* writer(void* unused) {
  for (int i = 0; i < 300; ++i) set(i);
  return unused;
}

static void* reader(void* wrong) {
  for (int i = 0; i < 300; ++i) {
    if (sum() != 100) *(int*)wrong = 1;
  }
  return NULL;
}

int main(void) {
  pthread_t threads[4];
  int wrong[3] = {0, 0, 0};
  pthread_create(&threads[3], NULL, writer, NULL);
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, reader, &wrong[i]);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  puts(wrong[0] || wrong[1] || wrong[2] ? "torn" : "consistent");
  return 0;
}
