// verdict: clean
// blocks: add
// output: ok
// A handler that never returns, wherever it comes, leaves the recording of its thread as it was: a
// lock that is missing, or held for ever, would show.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int left, right;
static atomic_int turns;
static volatile int jumps;
static sigjmp_buf again;

static void handle(int number) {
  (void)number;
  jumps = jumps + 1;
  siglongjmp(again, 1);
}

static void add(int by) {
  pthread_mutex_lock(&mutex);
  left += by;
  right -= by;
  pthread_mutex_unlock(&mutex);
}

static void* other(void* unused) {
  for (int i = 0; i < 3000; ++i) {
    add(i);
    atomic_fetch_add(&turns, 1);
  }
  return unused;
}

int main(void) {
  signal(SIGVTALRM, handle);
  while (jumps < 30) {
    if (sigsetjmp(again, 1) == 0) {
      const struct itimerval soon = {{0, 0}, {0, 100}};
      setitimer(ITIMER_VIRTUAL, &soon, NULL);
      for (;;) atomic_fetch_add(&turns, 1);
    }
  }
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  other(NULL);
  pthread_join(thread, NULL);
  puts(left + right == 0 ? "ok" : "broken");
  return 0;
}
