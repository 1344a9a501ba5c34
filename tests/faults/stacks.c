// Stack overflows and other faults that the program handles itself, on a stack for signals, and
// threads with the smallest stacks that there are.
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault.h"

static sigjmp_buf back;
static char* page;
static int faults;
static int depth_reached;

static void leave(int number) {
  ++faults;
  siglongjmp(back, number);
}

static void mend(int number, siginfo_t* information, void* context) {
  (void)number, (void)context;
  ++faults;
  must((char*)information->si_addr == page + 7, "address");
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void handle_with(void (*handler)(int), void (*long_handler)(int, siginfo_t*, void*)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_flags = SA_ONSTACK | (long_handler != NULL ? SA_SIGINFO : 0);
  if (long_handler != NULL) {
    action.sa_sigaction = long_handler;
  } else {
    action.sa_handler = handler;
  }
  sigaction(SIGSEGV, &action, NULL);
}

static void own_stack(void) {
  static char memory[2][64 << 10];
  static int used;
  const stack_t stack = {.ss_sp = memory[used++], .ss_size = sizeof memory[0]};
  must(sigaltstack(&stack, NULL) == 0, "sigaltstack");
}

__attribute__((noinline)) static int deeper(volatile int* level) {
  volatile int here[8];
  here[0] = *level + 1;
  depth_reached = here[0];
  const int result = deeper(here);
  return result + here[0];
}

static void* overflow(void* unused) {
  if (unused != NULL) own_stack();
  for (volatile int i = 0; i < 20; ++i) {
    if (sigsetjmp(back, 1) == 0) {
      // A different distance from the end of the stack each time.
      volatile char* const space = __builtin_alloca((size_t)(1 + i) * 24);
      space[0] = 0;
      volatile int level = 0;
      deeper(&level);
    }
    in_order();
  }
  return NULL;
}

int main(int count, char** arguments) {
  (void)count;
  race_before();
  own_stack();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  if (strcmp(arguments[1], "overflow") == 0) {
    handle_with(leave, NULL);
    pthread_t thread;
    pthread_create(&thread, &attributes, overflow, &attributes);
    pthread_join(thread, NULL);
  } else if (strcmp(arguments[1], "mend") == 0) {
    handle_with(NULL, mend);
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 20; ++i) {
      page[7] = 1;
      mprotect(page, 4096, PROT_NONE);
    }
  } else if (strcmp(arguments[1], "small") == 0) {
    must(pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0,
         "size");
    pthread_t threads[8];
    for (int i = 0; i < 8; ++i) {
      must(pthread_create(&threads[i], &attributes, thread_before, NULL) == 0, "pthread_create");
    }
    for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  }
  race_after();
  printf("%d faults, %d\n", faults, guarded);
  return 3;
}
