/* MySQL 14747: two threads in btr_search_drop_page_hash_index() see the same index in the block,
 * and both drop it. */
#include "kernel.h"

struct buf_block_struct {
  int* index;
  int drops;
};
static struct buf_block_struct* block;
static int tree;

static void btr_search_drop_page_hash_index(struct buf_block_struct* page) {
  int* index = page->index; /* btr0sea.c:893 */
  if (index == NULL) return;
  kernel_work(1);
  kernel_rest();
  page->index = kernel_working() ? index : NULL; /* btr0sea.c:1015 */
  page->drops++;
}

static void* first_drop(void* unused) {
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    btr_search_drop_page_hash_index(block);
  }
  return unused;
}
static void* second_drop(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    btr_search_drop_page_hash_index(block);
  }
  return unused;
}

static void setup(void) {
  free(block);
  block = calloc(1, sizeof *block);
  block->index = &tree;
}
static void look(void) {
  KERNEL_CHECK(kernel_working() || block->drops == 1);
}

int main(int argc, char** argv) {
  return kernel_main(argc, argv, setup, first_drop, second_drop, look);
}
