// Ways in which a process ends without returning from main: the trace has all that happened before.
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"

static void* end(void* how) {
  if (strcmp(how, "segv") == 0) *(volatile int*)8 = 1;
  if (strcmp(how, "trap") == 0) __builtin_trap();
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "_exit") == 0) _exit(9);
  if (strcmp(how, "syscall") == 0) syscall(SYS_exit_group, 10);
  return NULL;
}

int main(int count, char** arguments) {
  race_before();
  race_after();
  puts("the end");
  fflush(stdout);
  pthread_t thread;
  if (count > 2) {
    pthread_create(&thread, NULL, end, arguments[1]);
    pthread_join(thread, NULL);
  }
  end(arguments[1]);
  return 0;
}
