// verdict: clean
// blocks: increment
// output: child 800
// output: parent 1600, child exited with 5
// A child of fork has its parent's memory but is another process: the same addresses are other
// variables, and its threads are none of the parent's.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void increment(void) {
  pthread_mutex_lock(&mutex);
  counter = counter + 1;
  pthread_mutex_unlock(&mutex);
}

static void* work(void* unused) {
  for (int i = 0; i < 200; ++i) increment();
  return unused;
}

static void run_threads(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

int main(void) {
  const pid_t child = fork();
  if (child == 0) {
    run_threads();
    printf("child %d\n", counter);
    fflush(stdout);
    _exit(5);
  }
  run_threads();
  run_threads();
  int status = 0;
  waitpid(child, &status, 0);
  printf("parent %d, child exited with %d\n", counter, WEXITSTATUS(status));
  return 0;
}
