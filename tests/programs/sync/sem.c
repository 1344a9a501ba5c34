// verdict: clean
// blocks: fill, drain
// output: 500
// sem_t hands a buffer back and forth (wait, trywait, timedwait).
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

static sem_t empty, full;
static int buffer[4];

static void fill(int round) {
  for (int i = 0; i < 4; ++i) buffer[i] = round;
}

static int drain(int round) {
  int good = 1;
  for (int i = 0; i < 4; ++i) {
    good = good && buffer[i] == round;
    buffer[i] = 0;
  }
  return good;
}

static void* filler(void* unused) {
  for (int round = 0; round < 500; ++round) {
    while (sem_trywait(&empty) != 0) sched_yield();
    fill(round);
    sem_post(&full);
  }
  return unused;
}

int main(void) {
  sem_init(&empty, 0, 1);
  sem_init(&full, 0, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, filler, NULL);
  int good = 0;
  for (int round = 0; round < 500; ++round) {
    struct timespec when;
    clock_gettime(CLOCK_REALTIME, &when);
    when.tv_sec += 10;
    if (round % 2 == 0) {
      sem_wait(&full);
    } else {
      while (sem_timedwait(&full, &when) != 0) continue;
    }
    good += drain(round);
    sem_post(&empty);
  }
  pthread_join(thread, NULL);
  printf("%d\n", good);
  return 0;
}
