// verdict: clean
// blocks: produce, consume
// output: 500500
// A bounded buffer. Waiting is outside of the blocks; the item itself is made and used without a
// lock, which the hand-over through the buffer allows.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSlots = 4, kItems = 1000 };
struct Item {
  int value, copy;
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static struct Item* slots[kSlots];
static int first, count;

static struct Item* produce(int value) {
  struct Item* item = malloc(sizeof(struct Item));
  item->value = value;
  item->copy = item->value;
  return item;
}

static int consume(struct Item* item) {
  const int value = (item->value + item->copy) / 2;
  item->value = 0;
  free(item);
  return value;
}

static void put(struct Item* item) {
  pthread_mutex_lock(&mutex);
  while (count == kSlots) pthread_cond_wait(&not_full, &mutex);
  slots[(first + count++) % kSlots] = item;
  pthread_cond_signal(&not_empty);
  pthread_mutex_unlock(&mutex);
}

static struct Item* get(void) {
  pthread_mutex_lock(&mutex);
  while (count == 0) pthread_cond_wait(&not_empty, &mutex);
  struct Item* item = slots[first];
  first = (first + 1) % kSlots;
  --count;
  pthread_cond_signal(&not_full);
  pthread_mutex_unlock(&mutex);
  return item;
}

static void* producer(void* unused) {
  for (int i = 1; i <= kItems; ++i) put(produce(i));
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, producer, NULL);
  long sum = 0;
  for (int i = 0; i < kItems; ++i) sum += consume(get());
  pthread_join(thread, NULL);
  printf("%ld\n", sum);
  return 0;
}
