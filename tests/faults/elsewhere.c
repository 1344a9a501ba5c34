// Goes somewhere else: another directory, another root, another user.
#include <dlfcn.h>
#include <grp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"

static void go(const char* where) {
  if (strcmp(where, "chdir") == 0) must(chdir("/") == 0, where);
  if (strcmp(where, "gone") == 0) {
    must(mkdir("gone", 0700) == 0 && chdir("gone") == 0 && rmdir("../gone") == 0, where);
  }
  if (strcmp(where, "chroot") == 0) {
    must(mkdir("jail", 0755) == 0 && chroot("jail") == 0 && chdir("/") == 0, where);
  }
  if (strcmp(where, "setuid") == 0) {
    must(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0, where);
    must(setuid(0) != 0, "still privileged");
  }
  if (strcmp(where, "setresuid") == 0) {
    must(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0, where);
  }
  if (strcmp(where, "undumpable") == 0) must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, where);
}

// Ten threads at a time, more than there have been before: buffers that nobody had.
static pthread_barrier_t together;

static void* thread_together(void* unused) {
  pthread_barrier_wait(&together);
  return thread_after(unused);
}

static void many(void) {
  pthread_t threads[10];
  pthread_barrier_init(&together, NULL, 10);
  for (int i = 0; i < 10; ++i) {
    must(pthread_create(&threads[i], NULL, thread_together, NULL) == 0, "pthread_create");
  }
  pthread_setname_np(pthread_self(), "elsewhere");
  for (int i = 0; i < 10; ++i) pthread_join(threads[i], NULL);
}

int main(int count, char** arguments) {
  race_before();
  for (int i = 1; i < count; ++i) {
    if (strcmp(arguments[i], "fork") != 0) {
      go(arguments[i]);
      continue;
    }
    const pid_t child = fork();
    if (child == 0) {
      race_in_child();
      _exit(0);
    }
    int status = 0;
    must(waitpid(child, &status, 0) == child && status == 0, "child");
  }
  many();
  printf("%d\n", guarded);
  return 3;
}
