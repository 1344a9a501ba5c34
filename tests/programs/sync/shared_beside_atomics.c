// verdict: clean
// blocks: look, change
// output: 24000
// Threads that share a lock, some of which have told so much that they have no draft any more
// (runtime/draft.h): what comes before a taking is found out before it has its version.
#include <pthread.h>
#include <stdio.h>

enum { kThreads = 6, kRounds = 4000 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int count;
static _Atomic int told;
static _Thread_local int seen;

static void look(void) {
  pthread_rwlock_rdlock(&lock);
  seen += count;
  pthread_rwlock_unlock(&lock);
}

static void change(void) {
  pthread_rwlock_wrlock(&lock);
  ++count;
  pthread_rwlock_unlock(&lock);
}

static void* work(void* number) {
  const int tells = *(const int*)number % 2;
  for (int i = 0; i < kRounds; ++i) {
    look();
    if (tells) ++told;
    look();
    change();
    look();
  }
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  int numbers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, work, &numbers[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", count);
  return 0;
}
