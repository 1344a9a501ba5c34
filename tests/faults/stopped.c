// Stops itself, all threads at once, and goes on when someone continues it.
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "fault.h"

static atomic_int enough;

static void* busy(void* unused) {
  while (!atomic_load(&enough)) in_order();
  return unused;
}

int main(void) {
  race_before();
  pthread_t thread;
  pthread_create(&thread, NULL, busy, NULL);
  FILE* file = fopen("pid", "w");
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
  raise(SIGSTOP);
  atomic_store(&enough, 1);
  pthread_join(thread, NULL);
  race_after();
  puts("continued");
  return 3;
}
