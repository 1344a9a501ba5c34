/* What the kernels of known bugs share. A kernel has two sides that two threads run:
 *
 *   ./kernel           the workload that passes: the second side begins when the first is long done
 *   ./kernel fail      the schedule of the bug report: the first side rests where it can be torn
 *                      apart, and the second one comes just then
 *   ./kernel noise N   both rest for random times; N is the seed
 *   ./kernel work N    both sides N times without resting, to measure: each time about 20
 *                      microseconds of other work come first, little for a server's request
 *
 * Exit code: 0, or 1 when the bug has shown itself. The sides, functions and variables are those of
 * Table 1 of Weeratunge, Zhang and Jagannathan (OOPSLA 2011), re-created from its descriptions. */
#ifndef SYNDROME_BENCH_ENFORCE_KERNEL_H_
#define SYNDROME_BENCH_ENFORCE_KERNEL_H_

#include <pthread.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syndrome/syndrome.h>
#include <unistd.h>

enum kernel_mode { KERNEL_PASS, KERNEL_FAIL, KERNEL_NOISE, KERNEL_WORK };
static enum kernel_mode kernel_mode_now;
static unsigned kernel_seed;
static long kernel_rounds = 1;
static atomic_int kernel_bugs;

/* Threads are not given a place of their own to rest in: what they rest in is no access. */
SYNDROME_NO_PROBES static void kernel_sleep(unsigned milliseconds) {
  usleep(milliseconds * 1000);
}
SYNDROME_NO_PROBES static unsigned kernel_random(unsigned below) {
  static _Thread_local unsigned state;
  if (state == 0) state = kernel_seed * 2654435761u + (unsigned)(size_t)&state;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state % below;
}

static atomic_int kernel_resting;
static atomic_int kernel_first_done;
static atomic_int kernel_second_done;
/* Until the other side has come so far, but not for longer: in a hardened program it may have to
 * wait for this one. */
SYNDROME_NO_PROBES static void kernel_until(atomic_int* flag, unsigned milliseconds) {
  while (milliseconds-- > 0 && atomic_load(flag) == 0) kernel_sleep(1);
}

/* In the first side, where the second one must not come in between. */
SYNDROME_NO_PROBES static void kernel_rest(void) {
  if (kernel_mode_now == KERNEL_FAIL) {
    atomic_store(&kernel_resting, 1);
    kernel_until(&kernel_second_done, 40);
  }
  if (kernel_mode_now == KERNEL_NOISE) kernel_sleep(kernel_random(4));
}
/* At the beginning of the second side. */
SYNDROME_NO_PROBES static void kernel_wait_for_first(void) {
  if (kernel_mode_now == KERNEL_PASS) kernel_until(&kernel_first_done, 5000);
  if (kernel_mode_now == KERNEL_FAIL) kernel_until(&kernel_resting, 5000);
  if (kernel_mode_now == KERNEL_NOISE) kernel_sleep(kernel_random(4));
}
SYNDROME_NO_PROBES static void kernel_bug(const char* what) {
  if (atomic_fetch_add(&kernel_bugs, 1) == 0) fprintf(stderr, "the bug: %s\n", what);
}
#define KERNEL_CHECK(condition)               \
  do {                                        \
    if (!(condition)) kernel_bug(#condition); \
  } while (0)

static void kernel_start(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "fail") == 0) kernel_mode_now = KERNEL_FAIL;
  if (argc > 2 && strcmp(argv[1], "noise") == 0) {
    kernel_mode_now = KERNEL_NOISE;
    kernel_seed = (unsigned)strtoul(argv[2], NULL, 10) + 1;
  }
  if (argc > 2 && strcmp(argv[1], "work") == 0) {
    kernel_mode_now = KERNEL_WORK;
    kernel_rounds = strtol(argv[2], NULL, 10);
  }
}

typedef void* (*kernel_side)(void*);
SYNDROME_NO_PROBES static void* kernel_first(void* side) {
  ((kernel_side)side)(NULL);
  atomic_store(&kernel_first_done, 1);
  return NULL;
}
SYNDROME_NO_PROBES static void* kernel_second(void* side) {
  ((kernel_side)side)(NULL);
  atomic_store(&kernel_second_done, 1);
  return NULL;
}

/* Runs both sides, each in a thread of its own. */
static int kernel_run(kernel_side first, kernel_side second) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, kernel_first, (void*)first);
  pthread_create(&threads[1], NULL, kernel_second, (void*)second);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return atomic_load(&kernel_bugs) != 0 && kernel_mode_now != KERNEL_WORK ? 1 : 0;
}

SYNDROME_NO_PROBES static void kernel_compute(unsigned value, int steps) {
  unsigned x = value + 1;
  for (int i = 0; i < steps; ++i) x = x * 1664525u + 1013904223u;
  __asm__ volatile("" : : "r"(x));
}
/* What the program does between the two accesses: a tenth of a microsecond. */
SYNDROME_NO_PROBES static void kernel_work(unsigned value) {
  kernel_compute(value, 100);
}
/* And beside them, of the request that it serves: about 20 microseconds. */
SYNDROME_NO_PROBES static void kernel_request(void) {
  if (kernel_mode_now == KERNEL_WORK) kernel_compute(1, 20000);
}

#endif
