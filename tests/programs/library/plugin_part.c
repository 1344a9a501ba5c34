// part
// The library of plugin.c.
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int sum;

int plugin_add(int value) {
  pthread_mutex_lock(&mutex);
  sum = sum + value;
  const int result = sum;
  pthread_mutex_unlock(&mutex);
  return result;
}
