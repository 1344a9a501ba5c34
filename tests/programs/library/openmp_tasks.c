// verdict: clean
// tsan: races: it does not know the barriers and task waits of libomp
// flags: -fopenmp
// env: OMP_NUM_THREADS=4
// blocks: join
// output: 987 true
// OpenMP tasks with taskwait and dependences: a task's results reach the one who waits for it,
// whichever thread ran it.
#include <stdio.h>

struct Pair {
  int left, right;
};

static int join(struct Pair* pair) {
  const int sum = pair->left + pair->right;
  pair->left = pair->right = 0;
  return sum;
}

static int fibonacci(int n) {
  if (n < 2) return n;
  struct Pair pair;
#pragma omp task shared(pair) if (n > 8)
  pair.left = fibonacci(n - 1);
#pragma omp task shared(pair) if (n > 8)
  pair.right = fibonacci(n - 2);
#pragma omp taskwait
  return join(&pair);
}

int main(void) {
  int result = 0, stage = 0, good = 1;
#pragma omp parallel
#pragma omp single
  {
    result = fibonacci(16);
    for (int i = 0; i < 20; ++i) {
#pragma omp task depend(inout : stage) shared(stage, good) firstprivate(i)
      {
        if (stage != i) good = 0;
        stage = i + 1;
      }
    }
  }
  printf("%d %s\n", result, good && stage == 20 ? "true" : "false");
  return 0;
}
