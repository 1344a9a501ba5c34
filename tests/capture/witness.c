#include "witness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kThreads = 4, kAccesses = 1 << 16 };

struct Access {
  enum WitnessKind kind;
  int index;
  uint64_t seen, written;
};
static struct Access logs[kThreads][kAccesses];
static int lengths[kThreads];
static volatile struct Page* page;

void witness_open(const char* path) {
  const int file = open(path, O_RDWR);
  if (file < 0) abort();
  page = mmap(NULL, sizeof(struct Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) abort();
  page->pid = (uint64_t)getpid();
}

void witness_count(int thread, uint64_t count) {
  page->counts[thread] = count;
  for (volatile int i = 0; i < 200; ++i) continue;
}

void witness_access(int thread, enum WitnessKind kind, int index, uint64_t seen, uint64_t written) {
  if (lengths[thread] == kAccesses) abort();
  logs[thread][lengths[thread]++] = (struct Access){kind, index, seen, written};
}

void witness_dump(const char* path) {
  FILE* file = fopen(path, "w");
  if (file == NULL) abort();
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < lengths[t]; ++i) {
      const struct Access* one = &logs[t][i];
      fprintf(file, "%d %d %d %lu %lu\n", t, (int)one->kind, one->index, (unsigned long)one->seen,
              (unsigned long)one->written);
    }
  }
  fclose(file);
}
