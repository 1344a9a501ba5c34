/* What the kernels of known bugs share. A kernel has two sides that two threads run:
 *
 *   ./kernel             the workload that passes: the second side begins when the first is done
 *   ./kernel fail [MS]   the schedule of the bug report: the first side rests where it can be torn
 *                        apart, for at most MS milliseconds (300), and the second one comes just
 * then
 *   ./kernel together N  both at once, N times, each time on new objects: for noise, and for all
 *                        schedules (enforce/steps/)
 *   ./kernel work N      both sides N times without resting, to measure: each time about 20
 *                        microseconds of other work come first, little for a server's request
 *
 * Exit code: 0, or 1 when the bug has shown itself. The sides, functions and variables are those of
 * Table 1 of Weeratunge, Zhang and Jagannathan (OOPSLA 2011), re-created from its descriptions. */
#ifndef SYNDROME_BENCH_ENFORCE_KERNEL_H_
#define SYNDROME_BENCH_ENFORCE_KERNEL_H_

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syndrome/syndrome.h>
#include <time.h>
#include <unistd.h>

enum kernel_mode { KERNEL_PASS, KERNEL_FAIL, KERNEL_TOGETHER, KERNEL_WORK };
static enum kernel_mode kernel_mode_now;
static long kernel_rounds = 1;
static int kernel_bugs;

/* What belongs to the kernel and not to the program is no access of the program. */
SYNDROME_NO_PROBES static inline int kernel_working(void) {
  return kernel_mode_now == KERNEL_WORK;
}
SYNDROME_NO_PROBES static inline int kernel_more(long round) {
  return round < kernel_rounds;
}
SYNDROME_NO_PROBES static void kernel_sleep(unsigned milliseconds) {
  usleep(milliseconds * 1000);
}

/* Long enough for a busy machine; a lock of ours is waited for three times as long. */
static long kernel_rest_at_most = 300;
static int kernel_resting;
static int kernel_first_done;
static int kernel_second_done;
/* Until the other side has come so far, but not for longer: in a hardened program it may have to
 * wait for this one. */
SYNDROME_NO_PROBES static void kernel_until(int* flag, long milliseconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  while (__atomic_load_n(flag, __ATOMIC_SEQ_CST) == 0) {
    kernel_sleep(1);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 >=
        milliseconds)
      break;
  }
}

/* In the first side, where the second one must not come in between; a function may be both's. */
static __thread int kernel_in_second;
SYNDROME_NO_PROBES static void kernel_rest(void) {
  if (kernel_mode_now == KERNEL_FAIL && !kernel_in_second) {
    __atomic_store_n(&kernel_resting, 1, __ATOMIC_SEQ_CST);
    kernel_until(&kernel_second_done, kernel_rest_at_most);
  }
}
/* At the beginning of the second side. */
SYNDROME_NO_PROBES static void kernel_wait_for_first(void) {
  if (kernel_mode_now == KERNEL_PASS) kernel_until(&kernel_first_done, 600000);
  if (kernel_mode_now == KERNEL_FAIL) kernel_until(&kernel_resting, 600000);
}
SYNDROME_NO_PROBES static void kernel_bug(const char* what) {
  if (__atomic_fetch_add(&kernel_bugs, 1, __ATOMIC_SEQ_CST) == 0)
    fprintf(stderr, "the bug: %s\n", what);
}
/* Where the program does not go on. */
SYNDROME_NO_PROBES static inline void __attribute__((noreturn, nothrow)) kernel_crash(
    const char* what) {
  kernel_bug(what);
  _exit(1);
}
#define KERNEL_CHECK(condition)               \
  do {                                        \
    if (!(condition)) kernel_bug(#condition); \
  } while (0)

typedef void* (*kernel_side)(void*);
SYNDROME_NO_PROBES static void* kernel_first(void* side) {
  ((kernel_side)side)(NULL);
  __atomic_store_n(&kernel_first_done, 1, __ATOMIC_SEQ_CST);
  return NULL;
}
SYNDROME_NO_PROBES static void* kernel_second(void* side) {
  kernel_in_second = 1;
  ((kernel_side)side)(NULL);
  __atomic_store_n(&kernel_second_done, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

/* Makes new objects. */
typedef void (*kernel_setup)(void);
/* After both sides are done: looks at what they have left. May be NULL. */
typedef void (*kernel_look)(void);

/* Runs both sides, each in a thread of its own. */
static void kernel_run(kernel_setup setup, kernel_side first, kernel_side second,
                       kernel_look look) {
  pthread_t threads[2];
  setup();
  pthread_create(&threads[0], NULL, kernel_first, (void*)first);
  pthread_create(&threads[1], NULL, kernel_second, (void*)second);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  if (look != NULL) look();
}

static int kernel_main(int argc, char** argv, kernel_setup setup, kernel_side first,
                       kernel_side second, kernel_look look) {
  long times = 1;
  if (argc > 1 && strcmp(argv[1], "fail") == 0) {
    kernel_mode_now = KERNEL_FAIL;
    if (argc > 2) kernel_rest_at_most = strtol(argv[2], NULL, 10);
  }
  if (argc > 2 && strcmp(argv[1], "together") == 0) {
    kernel_mode_now = KERNEL_TOGETHER;
    times = strtol(argv[2], NULL, 10);
  }
  if (argc > 2 && strcmp(argv[1], "work") == 0) {
    kernel_mode_now = KERNEL_WORK;
    kernel_rounds = strtol(argv[2], NULL, 10);
  }
  for (long i = 0; i < times; ++i) kernel_run(setup, first, second, look);
  return __atomic_load_n(&kernel_bugs, __ATOMIC_SEQ_CST) != 0 && !kernel_working() ? 1 : 0;
}

SYNDROME_NO_PROBES static void kernel_compute(unsigned value, int steps) {
  unsigned x = value + 1;
  for (int i = 0; i < steps; ++i) {
    x = x * 1664525u + 1013904223u;
    __asm__ volatile("" : "+r"(x)); /* one after the other */
  }
}
/* What the program does between the two accesses: a tenth of a microsecond. */
SYNDROME_NO_PROBES static void kernel_work(unsigned value) {
  kernel_compute(value, 100);
}
/* And beside them, of the request that it serves: about 20 microseconds. */
SYNDROME_NO_PROBES static void kernel_request(void) {
  if (kernel_working()) kernel_compute(1, 15000);
}

#endif
