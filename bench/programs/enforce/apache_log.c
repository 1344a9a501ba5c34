/* Apache 25520: ap_buffered_log_writer() copies a line to outbuf + outcnt and then moves outcnt;
 * two at a time write over each other. */
#include "kernel.h"

struct buffered_log {
  unsigned outcnt;
  char outbuf[4096];
};
static struct buffered_log* buf;

static void ap_buffered_log_writer(struct buffered_log* log, const char* line) {
  unsigned length = (unsigned)strlen(line);
  if (log->outcnt + length > sizeof log->outbuf) log->outcnt = 0;
  unsigned at = log->outcnt; /* mod_log_config.c:1432 */
  memcpy(log->outbuf + at, line, length);
  kernel_work(length);
  kernel_rest();
  log->outcnt = at + length; /* mod_log_config.c:1469 */
}

static void* first_request(void* unused) {
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    ap_buffered_log_writer(buf, "GET /a\n");
  }
  return unused;
}
static void* second_request(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    ap_buffered_log_writer(buf, "GET /b\n");
  }
  return unused;
}

static void setup(void) {
  free(buf);
  buf = calloc(1, sizeof *buf);
}
static void look(void) {
  KERNEL_CHECK(kernel_working() || buf->outcnt == 14);
}

int main(int argc, char** argv) {
  return kernel_main(argc, argv, setup, first_request, second_request, look);
}
