// Forbids itself system calls, as a sandbox does once all is open: they fail with EPERM.
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"

#define REFUSE(number)                                 \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static pthread_barrier_t both;
static void* meet(void* unused) {
  pthread_barrier_wait(&both);
  return unused;
}

int main(int count, char** arguments) {
  const int no_mapping = count > 1 && strcmp(arguments[1], "mmap") == 0;
  // Two threads that are alive together: so there are two stacks, and two buffers of ours, to use
  // again. (Those of race_before may come one after the other, on one of each.)
  pthread_barrier_init(&both, NULL, 2);
  race_in(meet);
  race_before();
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      REFUSE(SYS_openat),
      REFUSE(SYS_open),
      REFUSE(SYS_fallocate),
      REFUSE(no_mapping ? SYS_mmap : SYS_open),
      REFUSE(no_mapping ? SYS_mremap : SYS_open),
      REFUSE(no_mapping ? SYS_madvise : SYS_open),
      REFUSE(no_mapping ? SYS_kill : SYS_open),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
  must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0, "seccomp");
  must(open("/dev/null", O_RDONLY) < 0 && errno == EPERM, "open");
  if (no_mapping) {
    // The stacks of threads that have ended are used again.
    race_after();
  } else {
    pthread_t threads[10];
    for (int i = 0; i < 10; ++i) pthread_create(&threads[i], NULL, thread_after, NULL);
    for (int i = 0; i < 10; ++i) pthread_join(threads[i], NULL);
  }
  printf("%d\n", guarded);
  return 3;
}
