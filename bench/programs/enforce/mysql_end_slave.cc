// MySQL 20850: end_slave() destroys the Master_info while handle_slave_io() still uses its
// run_lock.

#include "kernel.h"

struct Master_info {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t* run_lock = &lock;
};
static Master_info* active_mi;

static void handle_slave_io(Master_info* mi) {
  if (mi->run_lock == nullptr) return;
  pthread_mutex_lock(mi->run_lock);  // slave.cc:3414
  kernel_work(1);
  kernel_rest();
  if (mi->run_lock == nullptr) kernel_crash("run_lock is gone");
  pthread_mutex_unlock(mi->run_lock);  // slave.cc:3745
}
static void end_slave(Master_info* mi) {
  pthread_mutex_t* old = mi->run_lock;
  mi->run_lock = kernel_working() ? old : nullptr;
}

static void* slave(void* unused) {
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    handle_slave_io(active_mi);
  }
  return unused;
}
static void* shutdown_server(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    end_slave(active_mi);
  }
  return unused;
}

static void setup() {
  delete active_mi;
  active_mi = new Master_info;
}

int main(int argc, char** argv) {
  return kernel_main(argc, argv, setup, slave, shutdown_server, nullptr);
}
