// verdict: clean
// blocks: add, table_at
// output: 2000, made 1, queue 45, keys 4
// C11's threads, mutexes, conditions, call_once and thread-specific storage do not end in pthread
// calls that could be interposed: each needs its own care.
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

static mtx_t mutex, timed;
static cnd_t changed;
static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int sum, made, queued, queue_sum, keys;
static int table[10];

static void make_table(void) {
  ++made;
  for (int i = 0; i < 10; ++i) table[i] = i;
}

static int table_at(int i) {
  call_once(&once, make_table);
  return table[i];
}

static void add(int value) {
  mtx_lock(&mutex);
  sum = sum + value;
  mtx_unlock(&mutex);
}

static void key_gone(void* value) {
  free(value);
  mtx_lock(&mutex);
  ++keys;
  mtx_unlock(&mutex);
}

static int work(void* unused) {
  tss_set(key, malloc(4));
  for (int i = 0; i < 250; ++i) add(table_at(1) * 2);
  while (mtx_trylock(&timed) != thrd_success) thrd_yield();
  mtx_unlock(&timed);
  (void)unused;
  return 3;
}

static int consumer(void* unused) {
  (void)unused;
  for (int seen = 0; seen < 10; ++seen) {
    mtx_lock(&timed);
    while (queued == 0) cnd_wait(&changed, &timed);
    queue_sum += queued - 1;
    queued = 0;
    cnd_broadcast(&changed);
    mtx_unlock(&timed);
  }
  return 0;
}

int main(void) {
  mtx_init(&mutex, mtx_plain);
  mtx_init(&timed, mtx_timed);
  cnd_init(&changed);
  tss_create(&key, key_gone);
  thrd_t threads[4], other;
  thrd_create(&other, consumer, NULL);
  for (int i = 0; i < 10; ++i) {
    mtx_lock(&timed);
    while (queued != 0) cnd_wait(&changed, &timed);
    queued = i + 1;
    cnd_signal(&changed);
    mtx_unlock(&timed);
  }
  thrd_join(other, NULL);
  int result = 0;
  for (int i = 0; i < 4; ++i) thrd_create(&threads[i], work, NULL);
  for (int i = 0; i < 4; ++i) thrd_join(threads[i], &result);
  printf("%d, made %d, queue %d, keys %d\n", sum, made, queue_sum, keys);
  cnd_destroy(&changed);
  mtx_destroy(&mutex);
  return result == 3 ? 0 : 1;
}
