// verdict: clean
// races: found
// blocks: begin
// output: done
// Bytes of one word, each accessed in a line of its own: a race names the line of its byte, and not
// that of a neighbour.
#include <pthread.h>
#include <stdio.h>

#include "turns.h"

typedef unsigned char Byte;

static _Alignas(64) volatile Byte written[8];
static _Alignas(64) volatile Byte copied[8];
static _Alignas(64) volatile Byte again[8];
static _Alignas(64) volatile Byte moved[8];
static volatile Byte sink;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Turn go;

__attribute__((noinline)) static void begin(void) {
  sink = 1;
}

static void write_bytes(void) {
  written[0] = 1;
  written[1] = 2;
  written[2] = 3;  // <- race
  written[3] = 4;
  written[4] = 5;
  written[5] = 6;  // <- race
  written[6] = 7;  // <- race
  written[7] = 8;  // <- race
}

/// Reads and writes: two entries that are joined by others.
static void copy_bytes(void) {
  sink = copied[0];
  sink = copied[1];
  sink = copied[2];  // <- race
  sink = copied[3];
  copied[7] = 1;
  copied[6] = 2;  // <- race
  copied[5] = 3;
  copied[4] = 4;  // <- race
}

/// And what was there before: more than two entries.
static void write_again(void) {
  again[0] = 1;
  again[1] = 2;  // <- race
  again[2] = 3;
  again[3] = 4;
  again[7] = 5;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  sink = again[3];
  again[4] = 6;
  again[5] = 7;  // <- race
  sink = again[2];
  sink = again[0];
  again[6] = 8;  // <- race
}

/// What is left of three entries is two again: one takes another's place.
static void move_bytes(void) {
  moved[0] = 1;
  sink = moved[1];
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  sink = moved[2];  // <- race
  moved[1] = 2;
}

static void* writer(void* unused) {
  write_bytes();
  copy_bytes();
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  write_again();
  move_bytes();
  turn_give(&go);
  return unused;
}

int main(void) {
  go = turn_make();
  begin();
  pthread_t thread;
  pthread_create(&thread, NULL, writer, NULL);
  turn_take(&go);
  written[2] = 0;                              // <- race
  written[5] = 0;                              // <- race
  copied[2] = 0;                               // <- race
  copied[4] = 0;                               // <- race
  copied[6] = 0;                               // <- race
  again[1] = 0;                                // <- race
  again[5] = 0;                                // <- race
  again[6] = 0;                                // <- race
  *(volatile unsigned short*)&written[6] = 0;  // <- race
  moved[2] = 0;                                // <- race
  pthread_join(thread, NULL);
  printf("done\n");
  return 0;
}
