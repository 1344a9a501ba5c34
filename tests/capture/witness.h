// What a program under test really did, kept where no probe sees it: this part is compiled without
// Syndrome. Functions do nothing but store; each thread has its own log.

#ifndef SYNDROME_TESTS_CAPTURE_WITNESS_H_
#define SYNDROME_TESTS_CAPTURE_WITNESS_H_

#include <stdint.h>

/// Memory that the test shares with the program: a file of a page that the program maps.
struct Page {
  uint64_t pid;
  uint64_t counts[2];
};

enum WitnessKind { kWitnessRead, kWitnessWrite, kWitnessUpdate };

void witness_open(const char* path);
/// That the thread has stored `count` now. Returns after a fraction of a microsecond.
void witness_count(int thread, uint64_t count);

/// An access of a thread to variable number `index`, with the value read and the one written.
void witness_access(int thread, enum WitnessKind kind, int index, uint64_t seen, uint64_t written);
/// Writes all logs into a file, a line for each access: thread kind index seen written.
void witness_dump(const char* path);

#endif
