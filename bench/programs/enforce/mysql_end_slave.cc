// MySQL 20850: end_slave() destroys the Master_info while handle_slave_io() still uses its
// run_lock.

#include "kernel_cc.h"

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
  KERNEL_CHECK(mi->run_lock != nullptr);
  if (mi->run_lock != nullptr) pthread_mutex_unlock(mi->run_lock);  // slave.cc:3745
}
static void end_slave(Master_info* mi) {
  pthread_mutex_t* old = mi->run_lock;
  mi->run_lock = nullptr;
  if (kernel_mode_now == KERNEL_WORK) mi->run_lock = old;
}

static void* slave(void* unused) {
  for (long i = 0; i < kernel_rounds; ++i) {
    kernel_request();
    handle_slave_io(active_mi);
  }
  return unused;
}
static void* shutdown_server(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; i < kernel_rounds; ++i) {
    kernel_request();
    end_slave(active_mi);
  }
  return unused;
}

int main(int argc, char** argv) {
  kernel_start(argc, argv);
  active_mi = new Master_info;
  return kernel_run(slave, shutdown_server);
}
