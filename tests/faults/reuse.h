// Objects that one thread makes and frees, and whose memory is then the other's. No race.
#pragma once

#include "fault.h"

static void* make_and_free(void* unused) {
  for (int i = 0; i < 2000; ++i) {
    int* const object = (int*)malloc(sizeof(int) * 8);
    object[0] = i;
    object[7] = i;
    free(object);
  }
  in_order();
  return unused;
}

int main(void) {
  race_before();
  race_in(make_and_free);
  make_and_free(NULL);
  race_after();
  printf("%d\n", guarded);
  return 3;
}
