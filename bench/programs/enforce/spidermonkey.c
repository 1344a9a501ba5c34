/* Mozilla 133773: js_DestroyContext() of the last context takes the runtime down while another
 * thread has seen JSRuntime::state up and goes on to use it. */
#include "kernel.h"

enum { JSRTS_DOWN, JSRTS_UP };
struct JSRuntime {
  int state;
};
static struct JSRuntime* rt;

static void run_script(struct JSRuntime* runtime) {
  if (runtime->state != JSRTS_UP) return;
  kernel_work(1);
  kernel_rest();
  KERNEL_CHECK(runtime->state == JSRTS_UP);
}
static void js_DestroyContext(struct JSRuntime* runtime) {
  runtime->state = kernel_working() ? JSRTS_UP : JSRTS_DOWN;
}

static void* script(void* unused) {
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    run_script(rt);
  }
  return unused;
}
static void* destroy(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    js_DestroyContext(rt);
  }
  return unused;
}

static void setup(void) {
  free(rt);
  rt = calloc(1, sizeof *rt);
  rt->state = JSRTS_UP;
}

int main(int argc, char** argv) {
  return kernel_main(argc, argv, setup, script, destroy, NULL);
}
