/* pbzip2 0.9.4: the main thread deletes fifo->mut while a consumer is still using it. */
#include "kernel.h"

struct queue {
  pthread_mutex_t* mut;
  int items;
};
static struct queue* fifo;

static void queue_delete(struct queue* q) {
  pthread_mutex_t* old = q->mut;
  q->mut = kernel_working() ? old : NULL;
}

static void consume(struct queue* q) {
  if (q->mut == NULL) return; /* all is done */
  pthread_mutex_lock(q->mut); /* pbzip2.cpp:873 */
  q->items--;
  kernel_work((unsigned)q->items);
  kernel_rest();
  if (q->mut == NULL) kernel_crash("fifo->mut is gone");
  pthread_mutex_unlock(q->mut); /* pbzip2.cpp:994 */
}

static void* consumer(void* unused) {
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    consume(fifo);
  }
  return unused;
}
static void* finish(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    queue_delete(fifo);
  }
  return unused;
}

static void setup(void) {
  free(fifo);
  fifo = malloc(sizeof *fifo);
  fifo->mut = malloc(sizeof *fifo->mut);
  pthread_mutex_init(fifo->mut, NULL);
  fifo->items = 1;
}

int main(int argc, char** argv) {
  return kernel_main(argc, argv, setup, consumer, finish, NULL);
}
