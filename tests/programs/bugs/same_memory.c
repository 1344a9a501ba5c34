// verdict: violated
// blocks: update
// output: 5
// The counterpart of the memory that is used again: this memory is not freed in between, so it is
// the same variable, and the update is lost.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "turns.h"

struct Cell {
  pthread_mutex_t mutex;
  int value;
};
static Turn looked, done;

static void update(struct Cell* cell, int by, int slow) {
  int* unrelated = malloc(sizeof(int));
  pthread_mutex_lock(&cell->mutex);
  *unrelated = cell->value;  // <- here
  pthread_mutex_unlock(&cell->mutex);
  if (slow) {
    turn_give(&looked);
    turn_take(&done);
  }
  pthread_mutex_lock(&cell->mutex);
  cell->value = *unrelated + by;  // <- here
  pthread_mutex_unlock(&cell->mutex);
  free(unrelated);
}

static void* other(void* cell) {
  turn_take(&looked);
  update(cell, 3, 0);
  turn_give(&done);
  return NULL;
}

int main(void) {
  looked = turn_make();
  done = turn_make();
  struct Cell* cell = calloc(1, sizeof(struct Cell));
  pthread_mutex_init(&cell->mutex, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, other, cell);
  update(cell, 5, 1);
  pthread_join(thread, NULL);
  printf("%d\n", cell->value);
  free(cell);
  return 0;
}
