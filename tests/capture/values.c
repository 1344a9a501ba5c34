// Accesses whose values prove their order: values MODE FILE. Every value that is written is unique;
// what each access saw and wrote goes into FILE, in the order of its thread.
//
//   hot      atomics, one variable for all        many     atomics, 1,000 variables
//   locked   plain variables, a lock for each 10
//   race     plain accesses that race, one variable; races   1,000 variables
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "witness.h"

enum { kThreads = 4, kAccesses = 8000, kRound = 200, kCells = 1000, kLocks = 100 };

static _Atomic uint64_t atoms[kCells];
static volatile uint64_t cells[kCells];
static pthread_mutex_t locks[kLocks];
static pthread_barrier_t start;
static const char* mode;
// A thread's first access tells the test which of the trace's threads it is.
static volatile int marker0, marker1, marker2, marker3;

static uint64_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static void atomic_access(int me, int index, uint64_t choice, uint64_t fresh) {
  _Atomic uint64_t* atom = &atoms[index];
  uint64_t seen = 0;
  switch (choice % 8) {
    case 0:
      atomic_store_explicit(atom, fresh, memory_order_relaxed);
      witness_access(me, kWitnessWrite, index, 0, fresh);
      break;
    case 1:
      atomic_store_explicit(atom, fresh, memory_order_release);
      witness_access(me, kWitnessWrite, index, 0, fresh);
      break;
    case 2:
      seen = atomic_exchange_explicit(atom, fresh, memory_order_acq_rel);
      witness_access(me, kWitnessUpdate, index, seen, fresh);
      break;
    case 3:
      seen = atomic_fetch_add_explicit(atom, fresh, memory_order_relaxed);
      witness_access(me, kWitnessUpdate, index, seen, seen + fresh);
      break;
    case 4:
      seen = choice;
      if (atomic_compare_exchange_strong(atom, &seen, fresh)) {
        witness_access(me, kWitnessUpdate, index, seen, fresh);
      } else {
        witness_access(me, kWitnessRead, index, seen, 0);
        const uint64_t expected = seen;
        if (atomic_compare_exchange_strong(atom, &seen, fresh)) {
          witness_access(me, kWitnessUpdate, index, expected, fresh);
        } else {
          witness_access(me, kWitnessRead, index, seen, 0);
        }
      }
      break;
    case 5:
      seen = atomic_load_explicit(atom, memory_order_acquire);
      witness_access(me, kWitnessRead, index, seen, 0);
      break;
    case 6:
      seen = atomic_load(atom);
      witness_access(me, kWitnessRead, index, seen, 0);
      break;
    default:
      seen = atomic_load_explicit(atom, memory_order_relaxed);
      witness_access(me, kWitnessRead, index, seen, 0);
      break;
  }
}

static void plain_access(int me, int index, uint64_t choice, uint64_t fresh) {
  if (choice % 2 == 0) {
    const uint64_t seen = cells[index];
    witness_access(me, kWitnessRead, index, seen, 0);
  } else {
    cells[index] = fresh;
    witness_access(me, kWitnessWrite, index, 0, fresh);
  }
}

static void mark(int me) {
  volatile int* const markers[kThreads] = {&marker0, &marker1, &marker2, &marker3};
  *markers[me] = 1;
}

static void* work(void* argument) {
  const int me = (int)(long)argument;
  mark(me);
  pthread_barrier_wait(&start);
  uint64_t state = (uint64_t)me + 1;
  for (uint64_t i = 1; i <= kAccesses; ++i) {
    // Together again, so that all run at once for a while: what one thread does alone proves
    // nothing.
    if (i % kRound == 0) pthread_barrier_wait(&start);
    const uint64_t choice = next_random(&state);
    const int index = (int)(next_random(&state) % kCells);
    const uint64_t fresh = ((uint64_t)me + 1) << 32 | i;
    if (strcmp(mode, "hot") == 0) {
      atomic_access(me, 0, choice, fresh);
    } else if (strcmp(mode, "many") == 0) {
      atomic_access(me, index, choice, fresh);
    } else if (strcmp(mode, "locked") == 0) {
      pthread_mutex_lock(&locks[index % kLocks]);
      plain_access(me, index, choice, fresh);
      pthread_mutex_unlock(&locks[index % kLocks]);
    } else if (strcmp(mode, "race") == 0) {
      plain_access(me, 0, choice, fresh);
    } else if (strcmp(mode, "races") == 0) {
      plain_access(me, index, choice, fresh);
    } else {
      abort();
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) abort();
  mode = argv[1];
  for (int i = 0; i < kLocks; ++i) pthread_mutex_init(&locks[i], NULL);
  pthread_barrier_init(&start, NULL, kThreads);
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  witness_dump(argv[2]);
  return 0;
}
