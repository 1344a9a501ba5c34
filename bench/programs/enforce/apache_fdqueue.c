/* Apache 44402: ap_queue_info_set_idle() reads node->next twice around its compare-and-swap. Who
 * takes the node in between and gives it back changes it, the comparison fails, and the node goes
 * into the list a second time. */
#include <stdatomic.h>

#include "kernel.h"

struct recycled_pool {
  struct recycled_pool* next;
};
static struct recycled_pool* _Atomic recycled_pools;
static struct recycled_pool* node;
static struct recycled_pool other_pool;

static void ap_queue_info_set_idle(struct recycled_pool* pool) {
  int pushed = 0;
  for (;;) {
    pool->next = atomic_load(&recycled_pools);
    struct recycled_pool* expected = pool->next; /* fdqueue.c:104 */
    atomic_compare_exchange_strong(&recycled_pools, &expected, pool);
    ++pushed;
    kernel_work(1);
    kernel_rest();
    if (expected == pool->next) break; /* fdqueue.c:107 */
  }
  KERNEL_CHECK(pushed == 1);
}

/* Takes the node from the list and gives it back when another one has become the first. */
static int recycle(void) {
  struct recycled_pool* taken = atomic_load(&recycled_pools);
  if (taken != node) return 0;
  atomic_store(&recycled_pools, &other_pool);
  taken->next = &other_pool;
  atomic_store(&recycled_pools, taken);
  return 1;
}

static void* worker(void* unused) {
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    ap_queue_info_set_idle(node);
  }
  return unused;
}
static void* recycler(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    for (int attempt = 0; attempt < 8 && !recycle(); ++attempt) {
    }
  }
  return unused;
}

static void setup(void) {
  atomic_store(&recycled_pools, NULL);
  free(node);
  node = calloc(1, sizeof *node);
}

int main(int argc, char** argv) {
  return kernel_main(argc, argv, setup, worker, recycler, NULL);
}
