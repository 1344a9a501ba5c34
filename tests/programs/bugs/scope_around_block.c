// verdict: violated
// races: found
// output: 0 1
// A block of the program's functions begins and ends inside of a scope that is a block itself, and
// goes on being one.
#include <pthread.h>
#include <stdio.h>
#include <syndrome/syndrome.h>

#include "turns.h"

static int value;
static int calls;
static Turn looked, changed;

SYNDROME_ATOMIC static void count(void) {
  ++calls;
}

static void look_twice(int* first, int* second) {
  SYNDROME_ATOMIC_SCOPE("look twice");
  *first = value;  // <- here
  count();
  turn_give(&looked);
  turn_take(&changed);
  *second = value;  // <- here
}

static void* changer(void* unused) {
  turn_take(&looked);
  value = 1;  // <- here
  turn_give(&changed);
  return unused;
}

int main(void) {
  looked = turn_make();
  changed = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, changer, NULL);
  int first = 0, second = 0;
  look_twice(&first, &second);
  pthread_join(thread, NULL);
  printf("%d %d\n", first, second);
  return 0;
}
