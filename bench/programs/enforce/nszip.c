/* Mozilla 342577: nsZipArchive::SeekToItem tests and sets nsZipItem::flags without a lock; done
 * twice, the offset of the data is wrong and the file is corrupted. */
#include "kernel.h"

enum { kOffsetIsSet = 1 };
struct nsZipItem {
  unsigned flags;
  unsigned offset;
};
static struct nsZipItem* item;

static void SeekToItem(struct nsZipItem* at) {
  if ((at->flags & kOffsetIsSet) == 0) { /* nsZipArchive.cpp:1381 */
    unsigned header = 30;
    kernel_work(header);
    kernel_rest();
    at->offset += header;
    at->flags |= kOffsetIsSet; /* nsZipArchive.cpp:1408 */
  }
  KERNEL_CHECK(at->offset == 30);
}

static void* first_reader(void* unused) {
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    SeekToItem(item);
  }
  return unused;
}
static void* second_reader(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    SeekToItem(item);
  }
  return unused;
}

static void setup(void) {
  free(item);
  item = calloc(1, sizeof *item);
}

int main(int argc, char** argv) {
  return kernel_main(argc, argv, setup, first_reader, second_reader, NULL);
}
