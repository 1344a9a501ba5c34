// verdict: clean
// parts: library/plugin_part.c
// flags: -ldl
// blocks: plugin_add
// output: 800 800
// An instrumented library is loaded while the program runs, closed and loaded again: its functions
// are blocks, and its variables begin anew.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef int Add(int);

static void* work(void* add) {
  for (int i = 0; i < 200; ++i) ((Add*)(size_t)add)(1);
  return NULL;
}

static int run(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(3);
  }
  void* add = dlsym(library, "plugin_add");
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, add);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  const int sum = ((Add*)(size_t)add)(0);
  dlclose(library);
  return sum;
}

int main(int argc, char** argv) {
  (void)argc;
  char path[4096];
  snprintf(path, sizeof(path), "%s.part.so", argv[0]);
  const int first = run(path);
  printf("%d %d\n", first, run(path));
  return 0;
}
