// verdict: clean
// blocks: may_jump
// output: 100 jumps, 400
// longjmp leaves a block, and two functions below it, without returning from any of them.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void deeper(jmp_buf* out, int jump) {
  pthread_mutex_unlock(&mutex);
  if (jump) longjmp(*out, 1);
}

static void may_jump(jmp_buf* out, int i) {
  pthread_mutex_lock(&mutex);
  counter = counter + 1;
  deeper(out, i % 2);
}

static void* work(void* result) {
  jmp_buf out;
  volatile int jumps = 0;
  for (volatile int i = 0; i < 100; ++i) {
    if (setjmp(out) == 0) {
      may_jump(&out, i);
    } else {
      ++jumps;
    }
    // In a block that had not ended, this second critical section would be a violation.
    pthread_mutex_lock(&mutex);
    counter = counter + 1;
    pthread_mutex_unlock(&mutex);
  }
  *(int*)result = jumps;
  return NULL;
}

int main(void) {
  pthread_t one, two;
  int jumps[2];
  pthread_create(&one, NULL, work, &jumps[0]);
  pthread_create(&two, NULL, work, &jumps[1]);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  printf("%d jumps, %d\n", jumps[0] + jumps[1], counter);
  return 0;
}
