/* aget 0.4: save_log(), called for SIGINT, reads bwritten without bwritten_mutex while downloads go
 * on. What it writes into the file to resume from is not what it told. */
#include "kernel.h"

static pthread_mutex_t bwritten_mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned bwritten;

static void save_log(void) {
  unsigned shown = bwritten;
  kernel_rest();
  unsigned saved = bwritten; /* Resume.c:41 */
  KERNEL_CHECK(shown == saved);
}

static void http_get(unsigned bytes) {
  kernel_work(bytes);
  pthread_mutex_lock(&bwritten_mutex);
  bwritten += bytes;
  pthread_mutex_unlock(&bwritten_mutex);
}

static void* signal_waiter(void* unused) {
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    save_log();
  }
  return unused;
}
static void* download(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    http_get(1);
  }
  return unused;
}

static void setup(void) {
  bwritten = 0;
}

int main(int argc, char** argv) {
  return kernel_main(argc, argv, setup, signal_waiter, download, NULL);
}
