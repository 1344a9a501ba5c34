// MySQL 35714: THD::awake() tests mysys_var and then uses it; thread_detach() takes it away.

#include "kernel.h"

struct st_my_thread_var {
  int abort = 0;
};

class THD {
 public:
  void awake() {
    if (mysys_var != nullptr) {  // sql_class.cc:859
      kernel_work(1);
      kernel_rest();
      KERNEL_CHECK(mysys_var != nullptr);  // sql_class.cc:893
    }
  }
  void thread_detach() { mysys_var = kernel_working() ? &variables : nullptr; }

 private:
  st_my_thread_var variables;
  st_my_thread_var* mysys_var = &variables;
};
static THD* thd;

static void* kill_query(void* unused) {
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    thd->awake();
  }
  return unused;
}
static void* detach(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    thd->thread_detach();
  }
  return unused;
}

static void setup() {
  delete thd;
  thd = new THD;
}

int main(int argc, char** argv) {
  return kernel_main(argc, argv, setup, kill_query, detach, nullptr);
}
