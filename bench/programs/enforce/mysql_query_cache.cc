// MySQL 12848: Query_cache::resize() takes the bins away and makes new ones; a query that uses the
// cache in between finds none.

#include "kernel_cc.h"

class Query_cache {
 public:
  void resize() {
    int* old = bins;
    bins = nullptr;  // sql_cache.cc:733
    kernel_work(1);
    kernel_rest();
    bins = old;  // sql_cache.cc:755
  }
  void send_result_to_client() { KERNEL_CHECK(bins != nullptr); }

 private:
  int storage[16] = {};
  int* bins = storage;
};
static Query_cache* query_cache;

static void* set_size(void* unused) {
  for (long i = 0; i < kernel_rounds; ++i) {
    kernel_request();
    query_cache->resize();
  }
  return unused;
}
static void* query(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; i < kernel_rounds; ++i) {
    kernel_request();
    query_cache->send_result_to_client();
  }
  return unused;
}

int main(int argc, char** argv) {
  kernel_start(argc, argv);
  query_cache = new Query_cache;
  return kernel_run(set_size, query);
}
