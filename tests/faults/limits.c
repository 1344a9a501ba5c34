// Gives itself limits, after the first threads.
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fault.h"

static unsigned long size_now(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  must(file != NULL && fscanf(file, "%lu", &pages) == 1, "statm");
  fclose(file);
  return pages * 4096;
}

static void limit(int what, unsigned long bytes) {
  const struct rlimit wanted = {bytes, bytes};
  must(setrlimit(what, &wanted) == 0, "setrlimit");
}

int main(int count, char** arguments) {
  race_before();
  const char* const what = arguments[1];
  const unsigned long bytes = count > 2 ? strtoul(arguments[2], NULL, 0) : 0;
  if (strcmp(what, "as") == 0) limit(RLIMIT_AS, size_now() + bytes);
  if (strcmp(what, "data") == 0) limit(RLIMIT_DATA, size_now() + bytes);
  if (strcmp(what, "fsize") == 0) limit(RLIMIT_FSIZE, bytes);
  // What the program is refused is its own to see, and no end of it.
  if (strcmp(what, "as") == 0 || strcmp(what, "data") == 0) {
    const volatile size_t huge = (size_t)1 << 40;
    errno = 0;
    void* volatile memory = malloc(huge);
    must(memory == NULL && errno == ENOMEM, "no limit");
    char* blocks[64];
    int got = 0;
    while (got < 64 && (blocks[got] = malloc(1 << 20)) != NULL) blocks[got++][5] = 1;
    puts(got < 64 ? "out of memory" : "enough memory");
    while (got > 0) free(blocks[--got]);
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i) {
    must(pthread_create(&threads[i], &attributes, thread_after, NULL) == 0, "pthread_create");
  }
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", guarded);
  return 3;
}
