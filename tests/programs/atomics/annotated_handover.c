// verdict: clean
// tsan: races
// blocks: write_message, read_message
// output: 200
// The hand-over is invisible (a pipe); SYNDROME_HAPPENS_BEFORE and _AFTER tell about it.
#include <pthread.h>
#include <stdio.h>
#include <syndrome/syndrome.h>

#include "turns.h"

static Turn to_reader, to_writer;
static int message[4];

static void hand_over(const Turn* turn) {
  SYNDROME_HAPPENS_BEFORE(&message);
  turn_give(turn);
}

static void take_over(const Turn* turn) {
  turn_take(turn);
  SYNDROME_HAPPENS_AFTER(&message);
}

static void write_message(int round) {
  for (int i = 0; i < 4; ++i) message[i] = round;
}

static int read_message(int round) {
  int good = 1;
  for (int i = 0; i < 4; ++i) good = good && message[i] == round;
  return good;
}

static void* writer(void* unused) {
  for (int round = 0; round < 200; ++round) {
    take_over(&to_writer);
    write_message(round);
    hand_over(&to_reader);
  }
  return unused;
}

int main(void) {
  to_reader = turn_make();
  to_writer = turn_make();
  pthread_t thread;
  pthread_create(&thread, NULL, writer, NULL);
  int good = 0;
  hand_over(&to_writer);
  for (int round = 0; round < 200; ++round) {
    take_over(&to_reader);
    good += read_message(round);
    if (round != 199) hand_over(&to_writer);
  }
  pthread_join(thread, NULL);
  printf("%d\n", good);
  return 0;
}
