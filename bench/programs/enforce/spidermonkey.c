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
  runtime->state = JSRTS_DOWN;
  if (kernel_mode_now == KERNEL_WORK) runtime->state = JSRTS_UP;
}

static void* script(void* unused) {
  for (long i = 0; i < kernel_rounds; ++i) {
    kernel_request();
    run_script(rt);
  }
  return unused;
}
static void* destroy(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; i < kernel_rounds; ++i) {
    kernel_request();
    js_DestroyContext(rt);
  }
  return unused;
}

int main(int argc, char** argv) {
  kernel_start(argc, argv);
  rt = calloc(1, sizeof *rt);
  rt->state = JSRTS_UP;
  return kernel_run(script, destroy);
}
