// MySQL 791: MYSQL_LOG::new_file() closes the log and opens the next one; an INSERT that looks in
// between finds it closed, and is not logged.

#include "kernel.h"

enum { LOG_CLOSED, LOG_BIN };

class MYSQL_LOG {
 public:
  bool is_open() { return log_type != LOG_CLOSED; }
  void close() { log_type = LOG_CLOSED; }
  void open(int type) { log_type = type; }
  void new_file() {
    pthread_mutex_lock(&LOCK_log);
    const int save = log_type;
    close();  // log.cc:867
    kernel_work(1);
    kernel_rest();
    open(save);  // log.cc:870
    pthread_mutex_unlock(&LOCK_log);
  }

 private:
  pthread_mutex_t LOCK_log = PTHREAD_MUTEX_INITIALIZER;
  int log_type = LOG_BIN;
};
static MYSQL_LOG mysql_bin_log;

static void mysql_insert() {
  kernel_work(2);
  KERNEL_CHECK(mysql_bin_log.is_open());
}

static void* flush_logs(void* unused) {
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    mysql_bin_log.new_file();
  }
  return unused;
}
static void* insert(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    mysql_insert();
  }
  return unused;
}

static void setup() {
  mysql_bin_log.open(LOG_BIN);
}

int main(int argc, char** argv) {
  return kernel_main(argc, argv, setup, flush_logs, insert, nullptr);
}
