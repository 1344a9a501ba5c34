// verdict: clean
// races: found
// blocks: other
// output: done
// tsan: skip handlers that are left while it is at work are not for it
// Handlers that leave by siglongjmp, one right behind the other: the next one comes while the
// runtime still puts in order what the last one has left.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "turns.h"

enum { kRounds = 1500, kPage = 4096, kNumbers = 512 };
static sigjmp_buf again;
static volatile int armed, counter;
static _Alignas(kPage) char bytes[6 * kPage];
static int numbers[kNumbers];
static long racy[kRounds];
static Turn there, back;

static void handle(int number) {
  (void)number;
  if (armed == 0) return;
  armed = 0;
  siglongjmp(again, 1);
}

__attribute__((noinline)) static void leaf(int i) {
  numbers[i % kNumbers] = i;
}
__attribute__((noinline)) static void calls(int i) {
  leaf(i);
  numbers[(i + 1) % kNumbers]++;
}
__attribute__((noinline)) static void work(int i) {
  for (int k = 0; k < kPage; ++k) bytes[k + (i % 4) * kPage] = (char)k;
  for (int k = 0; k < 300; ++k) calls(k + i);
  memcpy(bytes + 4 * kPage, bytes, 2 * kPage);
  __atomic_fetch_add(numbers, 1, __ATOMIC_ACQ_REL);
}

static void* other(void* unused) {
  for (int i = 0; i < kRounds; ++i) {
    turn_take(&there);
    racy[i] = 2;
    turn_give(&back);
  }
  return unused;
}

int main(void) {
  there = turn_make();
  back = turn_make();
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarms, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
  const struct itimerval often = {{0, 70}, {0, 70}};
  setitimer(ITIMER_REAL, &often, NULL);
  for (counter = 0; counter < kRounds; ++counter) {
    if (sigsetjmp(again, 1) == 0) {
      armed = 1;
      work(counter);
    }
    armed = 0;
    racy[counter] = 1;
    turn_give(&there);
    turn_take(&back);
  }
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  pthread_join(thread, NULL);
  puts("done");
  return 0;
}
