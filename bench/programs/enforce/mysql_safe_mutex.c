/* MySQL 16333: safe_mutex_lock() sets count and thread one after the other, and
 * safe_mutex_assert_not_owner() reads both in between. The two variables count as one, because
 * functions access them together: --correlate */
#include "kernel.h"

struct safe_mutex_t {
  unsigned count;
  unsigned long thread;
};
static struct safe_mutex_t* mp;

static void safe_mutex_lock(struct safe_mutex_t* mutex, unsigned long self) {
  mutex->count++; /* thr_mutex.c:163 */
  kernel_work(1);
  kernel_rest();
  mutex->thread = self; /* thr_mutex.c:170 */
}
static void safe_mutex_assert_not_owner(struct safe_mutex_t* mutex, unsigned long self) {
  const unsigned count = mutex->count;
  const unsigned long thread = mutex->thread;
  KERNEL_CHECK(!(count > 0 && thread == self));
}

static void* locker(void* unused) {
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    safe_mutex_lock(mp, 1);
  }
  return unused;
}
static void* asserter(void* unused) {
  kernel_wait_for_first();
  for (long i = 0; kernel_more(i); ++i) {
    kernel_request();
    safe_mutex_assert_not_owner(mp, 2);
  }
  return unused;
}

static void setup(void) {
  free(mp);
  mp = calloc(1, sizeof *mp);
  mp->thread = 2; /* who held it before */
}

int main(int argc, char** argv) {
  return kernel_main(argc, argv, setup, locker, asserter, NULL);
}
