// A thread forks without exec while others work; the child uses mutexes and threads of its own.
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"

extern char** environ;
static atomic_int enough;

static void* busy(void* unused) {
  static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
  while (!atomic_load(&enough)) {
    pthread_mutex_lock(&own);
    free(malloc(100));
    pthread_mutex_unlock(&own);
  }
  return unused;
}

static int child_of_clone(void* unused) {
  race_in_child();
  in_order();
  _exit(unused == NULL ? guarded - 100 : 1);
}

static void* start(void* how) {
  pid_t child = 0;
  if (strcmp(how, "fork") == 0) {
    child = fork();
    if (child == 0) child_of_clone(NULL);
  } else if (strcmp(how, "vfork") == 0) {
    child = vfork();
    if (child == 0) {
      execl("/proc/self/exe", "forks", "child", (char*)NULL);
      _exit(1);
    }
  } else if (strcmp(how, "clone") == 0) {
    char* const stack = malloc(256 << 10);
    child = clone(child_of_clone, stack + (256 << 10), SIGCHLD, NULL);
  } else if (strcmp(how, "syscall") == 0) {
    child = (pid_t)syscall(SYS_fork);
    if (child == 0) child_of_clone(NULL);
  } else if (strcmp(how, "spawn") == 0) {
    char* const arguments[] = {"forks", "child", NULL};
    must(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0, "spawn");
  } else if (strcmp(how, "bare") == 0) {
    // A new program that gets no environment at all.
    child = fork();
    if (child == 0) {
      char* const arguments[] = {"forks", "child", NULL};
      char* const nothing[] = {NULL};
      execve("/proc/self/exe", arguments, nothing);
      _exit(1);
    }
  } else if (strcmp(how, "system") == 0) {
    clearenv();
    char command[64];
    snprintf(command, sizeof command, "/proc/%d/exe child", (int)getpid());
    const int status = system(command);
    printf("child: %d\n", WEXITSTATUS(status));
    return NULL;
  }
  int status = 0;
  must(child > 0 && waitpid(child, &status, 0) == child, "child");
  printf("child: %d%s\n", WEXITSTATUS(status), WIFSIGNALED(status) ? " killed" : "");
  return NULL;
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "child") == 0) {
    race_in_child();
    in_order();
    return guarded - 100;
  }
  race_before();
  guarded = 0;
  pthread_t others[2];
  for (int i = 0; i < 2; ++i) pthread_create(&others[i], NULL, busy, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, start, arguments[1]);
  pthread_join(thread, NULL);
  atomic_store(&enough, 1);
  for (int i = 0; i < 2; ++i) pthread_join(others[i], NULL);
  race_after();
  return 3;
}
