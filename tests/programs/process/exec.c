// verdict: clean
// blocks: increment
// output: before exec: 400
// output: after exec: 400
// The program replaces itself by itself: a new program in the same process, recorded as well.
#include <pthread.h>
#include <stdio.h>
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

int main(int argc, char** argv) {
  pthread_t one, two;
  pthread_create(&one, NULL, work, NULL);
  pthread_create(&two, NULL, work, NULL);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  printf("%s exec: %d\n", argc == 1 ? "before" : "after", counter);
  fflush(stdout);
  if (argc == 1) execl("/proc/self/exe", argv[0], "again", (char*)NULL);
  return 0;
}
