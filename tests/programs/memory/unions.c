// verdict: clean
// blocks: store_number, store_text
// output: consistent
// The members of a union are the same memory in different sizes; a lock orders them all.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  int is_text;
  union {
    long number;
    char text[8];
    short halves[4];
  } as;
} value;
static int wrong;

static void store_number(long number) {
  pthread_mutex_lock(&mutex);
  value.is_text = 0;
  value.as.number = number;
  value.as.halves[3] = (short)value.is_text;
  if (value.as.number != number) wrong = 1;
  pthread_mutex_unlock(&mutex);
}

static void store_text(const char* text) {
  pthread_mutex_lock(&mutex);
  value.is_text = 1;
  strcpy(value.as.text, text);
  if (strcmp(value.as.text, text) != 0) wrong = 1;
  pthread_mutex_unlock(&mutex);
}

static void* writer(void* text) {
  for (int i = 0; i < 300; ++i) {
    store_number(i);
    store_text(text);
  }
  return NULL;
}

int main(void) {
  pthread_t one, two;
  pthread_create(&one, NULL, writer, "abcdefg");
  pthread_create(&two, NULL, writer, "xyz");
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  puts(wrong ? "torn" : "consistent");
  return 0;
}
