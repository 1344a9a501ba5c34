// MySQL 12848: Query_cache::resize() takes the bins away and makes new ones; a query that uses the
// cache in between finds none.

#include "kernel.h"

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
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    query_cache->resize();
  }
  return unused;
}
static void* query(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    query_cache->send_result_to_client();
  }
  return unused;
}

static void setup() {
  delete query_cache;
  query_cache = new Query_cache;
}

int main(int argc, char** argv) {
  return kernel_main(argc, argv, setup, set_size, query, nullptr);
}
