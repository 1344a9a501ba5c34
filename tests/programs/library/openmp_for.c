// verdict: clean
// tsan: races: it does not know the barriers and task waits of libomp
// flags: -fopenmp
// env: OMP_NUM_THREADS=4
// blocks: scale, add_critical
// output: 499500 499500 2000
// OpenMP: a parallel loop, a reduction, a critical section, barriers between phases, single.
#include <omp.h>
#include <stdio.h>

enum { kSize = 1000 };
static long values[kSize], copies[kSize], critical_sum;

static void scale(int i) {
  values[i] = i;
  values[i] *= 2;
}

static void add_critical(long value) {
#pragma omp critical
  critical_sum = critical_sum + value;
}

int main(void) {
  long sum = 0;
  int singles = 0;
#pragma omp parallel
  {
#pragma omp for
    for (int i = 0; i < kSize; ++i) scale(i);
#pragma omp for
    for (int i = 0; i < kSize; ++i) copies[i] = values[kSize - 1 - i] / 2;
#pragma omp single
    singles += 2000;
#pragma omp for reduction(+ : sum)
    for (int i = 0; i < kSize; ++i) sum += copies[i];
#pragma omp for schedule(dynamic, 50)
    for (int i = 0; i < kSize; ++i) add_critical(copies[i]);
  }
  printf("%ld %ld %d\n", sum, critical_sum, singles);
  return 0;
}
