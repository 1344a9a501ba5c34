// verdict: violated
// flags: -fopenmp
// env: OMP_NUM_THREADS=2
// blocks: add
// output: 1 of 2
// Two critical sections in an OpenMP loop make one operation.
#include <omp.h>
#include <stdio.h>

#include "turns.h"

static int counter;
static Turn looked, done;

static int look(void) {
  int now;
#pragma omp critical
  now = counter;  // <- here
  return now;
}

static void set(int value) {
#pragma omp critical
  counter = value;  // <- here
}

static void add(int slow) {
  const int old = look();
  if (slow) {
    turn_give(&looked);
    turn_take(&done);
  }
  set(old + 1);
}

int main(void) {
  looked = turn_make();
  done = turn_make();
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      add(1);
    } else {
      turn_take(&looked);
      add(0);
      turn_give(&done);
    }
  }
  printf("%d of 2\n", counter);
  return 0;
}
