// A program with an allocator of its own in place of the C library's; with -DPART it is a library
// for LD_PRELOAD.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static char pool[32 << 20] __attribute__((aligned(16)));
static size_t used;
static void* lists[64];
static volatile char taken;

static void lock(void) {
  while (__atomic_test_and_set(&taken, __ATOMIC_ACQUIRE)) {
  }
}
static void unlock(void) {
  __atomic_clear(&taken, __ATOMIC_RELEASE);
}

// The class of a block stands before it.
static int class_of(size_t bytes) {
  int class = 5;
  while (((size_t)1 << class) < bytes + 16) ++class;
  return class;
}

void* malloc(size_t bytes) {
  const int class = class_of(bytes);
  lock();
  char* block = lists[class];
  if (block != NULL) {
    lists[class] = *(void**)(block + 16);
  } else if (used + ((size_t)1 << class) <= sizeof pool) {
    block = pool + used;
    used += (size_t)1 << class;
  }
  unlock();
  if (block == NULL) return NULL;
  *(int*)block = class;
  return block + 16;
}
void free(void* memory) {
  if (memory == NULL) return;
  char* const block = (char*)memory - 16;
  lock();
  *(void**)memory = lists[*(int*)block];
  lists[*(int*)block] = block;
  unlock();
}
void* calloc(size_t count, size_t bytes) {
  void* const memory = malloc(count * bytes);
  return memory == NULL ? NULL : memset(memory, 0, count * bytes);
}
void* realloc(void* memory, size_t bytes) {
  if (memory == NULL) return malloc(bytes);
  const size_t had = ((size_t)1 << *(int*)((char*)memory - 16)) - 16;
  if (bytes <= had) return memory;
  void* const moved = malloc(bytes);
  if (moved == NULL) return NULL;
  memcpy(moved, memory, had);
  free(memory);
  return moved;
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  if (alignment <= 16) return malloc(bytes);
  char* const memory = malloc(bytes + alignment + 16);
  char* const at = (char*)(((uintptr_t)memory + alignment + 15) & ~(alignment - 1));
  *(int*)(at - 16) = 5;  // lost when it is freed, but for its first bytes
  return at;
}
void* memalign(size_t alignment, size_t bytes) {
  return aligned_alloc(alignment, bytes);
}
size_t malloc_usable_size(void* memory) {
  return memory == NULL ? 0 : ((size_t)1 << *(int*)((char*)memory - 16)) - 16;
}

#ifndef PART
#include "reuse.h"
#endif
