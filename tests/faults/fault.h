// What every program here does before its fault and after it: a data race that any recording of it
// shows, whatever the schedule, beside something that is in order. So a trace tells whether the
// recording went on.

#pragma once

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int before_the_fault, after_the_fault, in_the_child;
static int guarded;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void in_order(void) {
  for (int i = 0; i < 50; ++i) {
    pthread_mutex_lock(&guard);
    guarded = guarded + 1;
    pthread_mutex_unlock(&guard);
  }
}

static void* thread_before(void* unused) {
  before_the_fault = 1;
  in_order();
  return unused;
}
static void* thread_after(void* unused) {
  after_the_fault = 1;
  in_order();
  return unused;
}
static void* thread_in_child(void* unused) {
  in_the_child = 1;
  in_order();
  return unused;
}

// Two threads that nothing orders.
static void race_in(void* (*routine)(void*)) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    const int error = pthread_create(&threads[i], NULL, routine, NULL);
    if (error != 0) {
      fprintf(stderr, "no thread: %d\n", error);
      exit(70);
    }
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static inline void race_before(void) {
  race_in(thread_before);
}
static inline void race_after(void) {
  race_in(thread_after);
}
static inline void race_in_child(void) {
  race_in(thread_in_child);
}

// A fault that did not happen tests nothing.
static inline void must(int done, const char* what) {
  if (done) return;
  perror(what);
  exit(71);
}
