// Turns that threads take in an order that no tool can see: bytes through a pipe. They force an
// interleaving without adding anything to the trace that could order, or be, the conflict.

#ifndef SYNDROME_TESTS_PROGRAMS_TURNS_H_
#define SYNDROME_TESTS_PROGRAMS_TURNS_H_

#include <stdlib.h>
#include <unistd.h>

typedef struct Turn {
  int in;
  int out;
} Turn;

static inline Turn turn_make(void) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  Turn turn = {ends[0], ends[1]};
  return turn;
}

static inline void turn_give(const Turn* turn) {
  char byte = 't';
  if (write(turn->out, &byte, 1) != 1) abort();
}

static inline void turn_take(const Turn* turn) {
  char byte = 0;
  if (read(turn->in, &byte, 1) != 1) abort();
}

/// As give and take, with a pointer that goes along.
static inline void turn_send(const Turn* turn, void* pointer) {
  if (write(turn->out, &pointer, sizeof(pointer)) != (ssize_t)sizeof(pointer)) abort();
}

static inline void* turn_receive(const Turn* turn) {
  void* pointer = NULL;
  if (read(turn->in, &pointer, sizeof(pointer)) != (ssize_t)sizeof(pointer)) abort();
  return pointer;
}

#endif
