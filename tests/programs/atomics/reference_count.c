// verdict: clean
// blocks: finish
// output: 100 freed
// Whoever drops the last reference reads what all the others wrote before they dropped theirs: a
// release sequence of read-modify-writes.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 4, kObjects = 100 };
struct Object {
  atomic_int references;
  int parts[kThreads];
};
static struct Object* objects[kObjects];
static atomic_int freed;

static int finish(struct Object* object) {
  int sum = 0;
  for (int i = 0; i < kThreads; ++i) {
    sum += object->parts[i];
    object->parts[i] = 0;
  }
  return sum;
}

static void* work(void* argument) {
  const int me = (int)(long)argument;
  for (int i = 0; i < kObjects; ++i) {
    struct Object* object = objects[i];
    object->parts[me] = 1;
    if (atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) == 1) {
      if (finish(object) == kThreads) atomic_fetch_add(&freed, 1);
      free(object);
    }
  }
  return NULL;
}

int main(void) {
  for (int i = 0; i < kObjects; ++i) {
    objects[i] = calloc(1, sizeof(struct Object));
    atomic_init(&objects[i]->references, kThreads);
  }
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("%d freed\n", atomic_load(&freed));
  return 0;
}
