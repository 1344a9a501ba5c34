// Works until it is told to end, or for as many rounds as its argument says, and until the file is
// there that a second argument names; with "catch" it ends in order at the signal of the terminal.
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"

static atomic_int told;
static long rounds = -1;

static void tell(int number) {
  told = number;
}

static void* work(void* unused) {
  static int numbers[8];
  for (long i = 0; i != rounds && !told; ++i) {
    pthread_mutex_lock(&guard);
    for (int k = 1; k < 8; ++k) numbers[k] = numbers[k - 1] + k;
    pthread_mutex_unlock(&guard);
    if (rounds < 0) usleep(1000);
  }
  return unused;
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "catch") == 0) {
    signal(SIGINT, tell);
  } else if (count > 1) {
    rounds = atol(arguments[1]);
  }
  race_before();
  // Until that is in the trace, whatever happens to it later: a thread shows whole lines.
  in_order();
  usleep(250000);
  FILE* file = fopen("pid", "w");
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  work(NULL);
  pthread_join(thread, NULL);
  while (count > 2 && access(arguments[2], F_OK) != 0) usleep(1000);
  race_after();
  printf("told %d\n", (int)told);
  return 3;
}
