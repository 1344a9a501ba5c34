// Noise: pauses of the program's threads, at synchronization and before accesses, that make rare
// schedules likely (`--noise`).
//
// Which thread pauses at which of its points, and for how long, follows from the seed, the thread's
// number and how many points it has passed: the same seed makes the same noise for as long as the
// threads do the same. Beside these pauses there are change points, as in PCT (Burckhardt and
// others, ASPLOS 2010): whoever takes a certain step of the whole process goes to the end of the
// line and goes on when nobody before it does. There is one in each doubling of the steps, because
// nobody knows how many there will be. Who has made a thread does so every other time. Nothing of
// this happens before there is a second thread.
//
// While it is on, every probe comes to the runtime (as with --order exact), and every access has a
// time of its own, so that the order of accesses that race is what the pauses made it.
//
// State, and who may touch it:
//   noise_on, the seed, the change points    written while the process attaches
//   steps, threaded, the line                anyone, relaxed: they only decide who sleeps
//   Thread::noise                            this thread alone

#pragma once

#include <cstdint>

#include "runtime/log.h"

namespace syndrome::rt {

extern bool noise_on;

/// While the process attaches, before any thread of it makes noise.
void noise_start(std::uint64_t seed);

/// A point at which the thread may pause: while it holds nothing of the runtime's.
void make_noise();

/// The thread begins: some come late.
void make_noise_at_begin();
/// The thread has made another: one of the two goes first.
void make_noise_at_fork();

/// Before a real acquire and after a real release, so that others can come in between.
inline void noise() {
  if (__builtin_expect(static_cast<long>(noise_on), 0) != 0 && __syndrome_thread.inside == 0) {
    make_noise();
  }
}

}  // namespace syndrome::rt
