// verdict: clean
// blocks: read_message
// output: 5 messages, 505 bytes
// read(2) and write(2) touch the program's buffer from outside of instrumented code; the buffer is
// reused for each message by one thread at a time.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char buffer[128];
static int pipe_ends[2];
static int messages, bytes;

static void read_message(void) {
  pthread_mutex_lock(&mutex);
  const ssize_t length = read(pipe_ends[0], buffer, 101);
  if (length == 101 && strlen(buffer) == 100) {
    ++messages;
    bytes += (int)length;
  }
  memset(buffer, 0, sizeof(buffer));
  pthread_mutex_unlock(&mutex);
}

static void* reader(void* count) {
  for (int i = 0; i < *(const int*)count; ++i) read_message();
  return NULL;
}

int main(void) {
  if (pipe(pipe_ends) != 0) return 1;
  char text[101];
  memset(text, 'x', 100);
  text[100] = 0;
  for (int i = 0; i < 5; ++i) {
    if (write(pipe_ends[1], text, sizeof(text)) != (ssize_t)sizeof(text)) return 1;
  }
  static const int counts[] = {2, 3};
  pthread_t one, two;
  pthread_create(&one, NULL, reader, (void*)&counts[0]);
  pthread_create(&two, NULL, reader, (void*)&counts[1]);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  printf("%d messages, %d bytes\n", messages, bytes);
  return 0;
}
